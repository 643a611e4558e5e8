package hookfile

import (
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

var matchKeys = []struct {
	name, about string
	matcher     func(pattern string) (hooks.Matcher, error) // nil for readTool
}{
	{"tool", "the tool, by the name that its agent has for it or that all have: Bash is every agent's shell; also Edit|Write, ^mcp__ and Bash(rm *)", nil},
	{"agent", "the agent", hooks.ForAgent},
	{"run_type", "what the run is for: PLAN, REVIEW, …", hooks.ForRunType},
}

const argsKey = "args"

func matchNames() []string {
	names := []string{argsKey}
	for _, k := range matchKeys {
		names = append(names, k.name)
	}
	return names
}

func (r *hookReader) readMatch(n *yaml.Node, what string) {
	entries := r.entries(n, what)
	if len(entries) == 0 && n.Kind == yaml.MappingNode {
		r.wrong(n, "%s: empty; leave it out, or say what has to match", what)
	}
entries:
	for _, e := range entries {
		if e.name == argsKey {
			r.readArgs(e.value, what+"."+argsKey)
			continue
		}
		for _, k := range matchKeys {
			if k.name != e.name {
				continue
			}
			compile := k.matcher
			if compile == nil {
				compile = r.compileTool(e.value, what+"."+e.name)
			}
			r.patterns(e.value, what+"."+e.name, compile)
			continue entries
		}
		r.wrong(e.key, "%s: unknown key %q; %s", what, clip(e.name), oneOf(e.name, matchNames()))
	}
}

func (r *hookReader) readArgs(n *yaml.Node, what string) {
	entries := r.entries(n, what)
	if len(entries) == 0 && n.Kind == yaml.MappingNode {
		r.wrong(n, "%s: empty; leave it out, or name an argument and its pattern", what)
	}
	for _, e := range entries {
		r.patterns(e.value, what+"."+clip(e.name), func(pattern string) (hooks.Matcher, error) {
			return policy.ForArg(e.name, pattern)
		})
	}
}

func (r *hookReader) compileTool(n *yaml.Node, what string) func(string) (hooks.Matcher, error) {
	return func(pattern string) (hooks.Matcher, error) {
		p, err := compileTool(pattern)
		for _, name := range p.unknown {
			advice := "a tool of your own is right here"
			if near := nearest(name, toolNames()); near != "" {
				advice = fmt.Sprintf("did you mean %q?", near)
			}
			r.odd(n, "%s: no known agent has a tool %q; %s", what, clip(name), advice)
		}
		return p, err
	}
}

// patterns reads a pattern, or a list of patterns of which one has to match.
func (r *hookReader) patterns(n *yaml.Node, what string, compile func(string) (hooks.Matcher, error)) {
	if n.Kind != yaml.SequenceNode {
		if m := r.pattern(n, what, compile); m != nil {
			r.hook.match = append(r.hook.match, m)
		}
		return
	}
	if len(n.Content) == 0 {
		r.wrong(n, "%s: empty; want a pattern, or a list of patterns", what)
	}
	var list anyOf
	for _, item := range n.Content {
		if m := r.pattern(item, what, compile); m != nil {
			list = append(list, m)
		}
	}
	r.hook.match = append(r.hook.match, list)
}

func (r *hookReader) pattern(n *yaml.Node, what string, compile func(string) (hooks.Matcher, error)) hooks.Matcher {
	s, ok := r.text(n, what)
	if !ok {
		return nil
	}
	m, err := compile(s)
	if err != nil {
		r.wrong(n, "%s: %v", what, err)
		return nil
	}
	return m
}
