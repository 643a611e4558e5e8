package hookfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/cbroglie/mustache"
	"go.yaml.in/yaml/v4"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

type prompt struct{ template *mustache.Template }

var promptNames = []string{"event", "tool", "args", "payload", "session_id", "agent", "agent_role", "run", "run_type", "step", "tenant", "user"}

var errPartial = errors.New("{{> …}} would read a file; write its text here")

func newPrompt(text string) (*prompt, error) {
	template, err := mustache.ParseStringPartialsRaw(text, noPartials{}, true)
	if err != nil {
		if bad, ok := errors.AsType[mustache.ParseError](err); ok {
			return nil, fmt.Errorf("not a template: %s in its line %d", strings.ReplaceAll(string(bad.Code), "_", " "), bad.Line)
		}
		return nil, errors.New("not a template: the braces do not fit together")
	}
	if err := checkTags(template.Tags()); err != nil {
		return nil, err
	}
	return &prompt{template: template}, nil
}

// noPartials disables partials in templates, because the library would read the partials from files
// in the working directory.
type noPartials struct{}

// Get implements [mustache.PartialProvider].
func (noPartials) Get(string) (string, error) { return "", nil }

func checkTags(tags []mustache.Tag) error {
	for _, tag := range tags {
		switch tag.Type() {
		case mustache.Partial:
			return errPartial
		case mustache.Section, mustache.InvertedSection:
			if err := checkTags(tag.Tags()); err != nil {
				return err
			}
		case mustache.Variable, mustache.Invalid:
		}
		if !slices.Contains(promptNames, tag.Name()) {
			return fmt.Errorf("unknown name {{%s}}; %s", clip(tag.Name()), oneOf(tag.Name(), promptNames))
		}
	}
	return nil
}

func (p *prompt) render(event string, d hooks.Document) (string, error) {
	m := &d.Meta
	text, err := p.template.Render(map[string]string{
		"event": event, "tool": oneLine(d.Tool), "args": orNull(d.Args), "payload": orNull(d.Payload), "session_id": oneLine(m.Session),
		"agent": oneLine(m.Agent), "agent_role": oneLine(m.AgentRole), "run": oneLine(m.Run), "run_type": oneLine(m.RunType),
		"step": oneLine(m.Step), "tenant": oneLine(m.Tenant), "user": oneLine(m.User),
	})
	if err != nil {
		return "", hooks.Fault("prompt cannot be made")
	}
	return text, nil
}

func oneLine(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, name)
}

func orNull(j hooks.JSON) string {
	if j == "" {
		return "null"
	}
	return string(j)
}

func (r *hookReader) readPrompt(n *yaml.Node, what string) {
	s, ok := r.text(n, what)
	if !ok {
		return
	}
	p, err := newPrompt(s)
	if err != nil {
		r.wrong(n, "%s: %v", what, err)
		return
	}
	r.hook.prompt = p
}
