// Package configfile reads and writes the YAML file with the limits of the rules.
package configfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/hooktrail/hooktrail/internal/tracking/deferred"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
)

const maxBytes = 256 << 10

// An Error is a mistake in a configuration file and its position.
type Error struct {
	Line, Column int
	Message      string
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message) }

type field struct {
	path  string                  // name of the section, a dot, and name of the field
	about string                  // comment in the default file
	at    func(*rules.Config) any // returns a pointer to the value
	least int64
}

var fields = []field{
	{"title_prefix", "prefix of generated titles", func(c *rules.Config) any { return &c.TitlePrefix }, 0},
	{"tracked", "run types that always get a tracking issue", func(c *rules.Config) any { return &c.Tracked }, 0},
	{"complexity", "other runs get one from this complexity", func(c *rules.Config) any { return &c.Complexity }, 1},
	{"signs.steps", "an undeclared complexity is 1, plus 1 for this many steps", func(c *rules.Config) any { return &c.Signs.Steps }, 1},
	{"signs.retries", "plus 1 for this many retries", func(c *rules.Config) any { return &c.Signs.Retries }, 1},
	{"signs.files", "plus 1 for this many files", func(c *rules.Config) any { return &c.Signs.Files }, 1},
	{"signs.roles", "plus 1 for this many agent roles", func(c *rules.Config) any { return &c.Signs.Roles }, 1},
	{"signs.tokens", "plus 1 for this many tokens", func(c *rules.Config) any { return &c.Signs.Tokens }, 1},
	{"hold", "grace period in which a failure can recover", func(c *rules.Config) any { return &c.Grace }, 0},
	{"infrastructure", "error classes with these words are infrastructure failures too", func(c *rules.Config) any { return &c.Infrastructure }, 0},
	{"ordinary", "error classes with these words are never infrastructure failures", func(c *rules.Config) any { return &c.Ordinary }, 0},
	{"storm.most", "failures and follow-ups that may get an issue", func(c *rules.Config) any { return &c.Storm.Most }, 0},
	{"storm.within", "within this time", func(c *rules.Config) any { return &c.Storm.Within }, 1},
	{"budget.most", "second limit for a longer time", func(c *rules.Config) any { return &c.Budget.Most }, 0},
	{"budget.within", "within this time", func(c *rules.Config) any { return &c.Budget.Within }, 1},
	{"critical.most", "additional critical failures that may get an issue", func(c *rules.Config) any { return &c.Critical.Most }, 0},
	{"critical.within", "within this time", func(c *rules.Config) any { return &c.Critical.Within }, 1},
	{"tracking.most", "runs that may get a tracking issue", func(c *rules.Config) any { return &c.Tracking.Most }, 0},
	{"tracking.within", "within this time", func(c *rules.Config) any { return &c.Tracking.Within }, 1},
	{"loop", "issues that a lineage may cause without progress", func(c *rules.Config) any { return &c.Loop }, 1},
	{"followups", "follow-ups per run for deferred work", func(c *rules.Config) any { return &c.Followups }, 0},
	{"remaining", "follow-ups per run for partial success", func(c *rules.Config) any { return &c.Remaining }, 0},
	{"done_words", "percentage of the words of \"done: X\" that must be those of the follow-up", func(c *rules.Config) any { return &c.DoneWords }, 1},
	{"regression", "a failure within this time reopens a closed issue", func(c *rules.Config) any { return &c.Regression }, 0},
	{"flapping.most", "this many reopenings", func(c *rules.Config) any { return &c.Flapping.Most }, 1},
	{"flapping.within", "within this time make an issue flapping", func(c *rules.Config) any { return &c.Flapping.Within }, 1},
	{"relapses.most", "and so do this many reopenings", func(c *rules.Config) any { return &c.Relapses.Most }, 1},
	{"relapses.within", "within this longer time", func(c *rules.Config) any { return &c.Relapses.Within }, 1},
	{"quiet", "flapping ends after this time without facts", func(c *rules.Config) any { return &c.Quiet }, 1},
	{"stalled", "an issue is labelled after this time without events", func(c *rules.Config) any { return &c.Stalled }, 1},
	{"leap", "an event further ahead needs a second one to move the clock", func(c *rules.Config) any { return &c.Leap }, 1},
	{"not_planned", "an issue closed as not planned stays closed for this time", func(c *rules.Config) any { return &c.NotPlanned }, 0},
	{"digest.age", "a digest accepts entries for this time", func(c *rules.Config) any { return &c.Digest.Age }, 1},
	{"digest.entries", "entries in its description", func(c *rules.Config) any { return &c.Digest.Entries }, 1},
	{"digest.pause", "minimum time between two updates of its description", func(c *rules.Config) any { return &c.Digest.Pause }, 1},
}

// Read reads a configuration file. Missing limits get their default values. If the file is invalid,
// the error is an [*Error].
func Read(r io.Reader) (rules.Config, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return rules.Config{}, fmt.Errorf("read configuration: %w", err)
	}
	return Parse(data)
}

// Parse is like [Read], but for the content of a file.
func Parse(data []byte) (rules.Config, error) {
	if len(data) > maxBytes {
		return rules.Config{}, &Error{1, 1, fmt.Sprintf("more than %d bytes", maxBytes)}
	}
	if !utf8.Valid(data) {
		return rules.Config{}, &Error{1, 1, "not UTF-8 text"}
	}
	c := rules.DefaultConfig()
	top, err := document(data)
	if err != nil {
		return rules.Config{}, err
	}
	if top == nil {
		return c, nil
	}
	if err := readSection(&c, "", top); err != nil {
		return rules.Config{}, err
	}
	return c, nil
}

func document(data []byte) (*yaml.Node, error) {
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithUniqueKeys(false))
	if err != nil {
		return nil, notYAML(err)
	}
	var doc, more yaml.Node
	if err := loader.Load(&doc); errors.Is(err, io.EOF) {
		return nil, nil //nolint:nilnil // an empty file is a configuration
	} else if err != nil {
		return nil, notYAML(err)
	}
	if err := loader.Load(&more); err == nil {
		return nil, wrong(&more, "a second document")
	} else if !errors.Is(err, io.EOF) {
		return nil, notYAML(err)
	}
	top := &doc
	if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 {
		top = doc.Content[0]
	}
	if top.Kind == yaml.ScalarNode && top.Tag == "!!null" {
		return nil, nil //nolint:nilnil // as above
	}
	return top, nil
}

func notYAML(err error) error {
	e := &Error{1, 1, "not YAML"}
	if load, ok := errors.AsType[*yaml.LoadError](err); ok && load.Mark.Line > 0 {
		e.Line, e.Column = load.Mark.Line, max(load.Mark.Column, 1)
	}
	return e
}

func wrong(n *yaml.Node, format string, args ...any) error {
	return &Error{max(n.Line, 1), max(n.Column, 1), fmt.Sprintf(format, args...)}
}

func readSection(c *rules.Config, prefix string, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return wrong(n, "want names and values")
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || seen[key.Value] {
			return wrong(key, "not a name, or a repeated name")
		}
		seen[key.Value] = true
		f, section := findField(prefix + key.Value)
		var err error
		switch {
		case section:
			err = readSection(c, prefix+key.Value+".", value)
		case f == nil:
			err = wrong(key, "unknown name %s", strconv.QuoteToASCII(deferred.Clean(prefix+key.Value, 60)))
		default:
			err = f.read(c, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func findField(path string) (f *field, section bool) {
	for i := range fields {
		if fields[i].path == path {
			return &fields[i], false
		}
		section = section || strings.HasPrefix(fields[i].path, path+".")
	}
	return nil, section
}

func (f *field) read(c *rules.Config, n *yaml.Node) error {
	switch p := f.at(c).(type) {
	case *string:
		if n.Kind != yaml.ScalarNode || n.Tag != "!!str" || utf8.RuneCountInString(n.Value) > 40 {
			return wrong(n, "%s: want a text of at most 40 characters", f.path)
		}
		*p = n.Value
	case *[]string:
		return f.readList(p, n)
	case *time.Duration:
		d, err := parseDuration(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil || int64(d) < f.least {
			return wrong(n, "%s: want a time like 30s, 10m, 2h or 7d", f.path)
		}
		*p = d
	case *int:
		v, err := f.readNumber(n)
		*p = int(v)
		return err
	case *int64:
		v, err := f.readNumber(n)
		*p = v
		return err
	}
	return nil
}

func (f *field) readNumber(n *yaml.Node) (int64, error) {
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || err != nil || v < f.least || v > math.MaxInt32 {
		return 0, wrong(n, "%s: want a whole number of %d or more", f.path, f.least)
	}
	return v, nil
}

func (f *field) readList(p *[]string, n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode || len(n.Content) > 200 {
		return wrong(n, "%s: want a list of at most 200 words", f.path)
	}
	*p = []string{}
	for _, item := range n.Content {
		if item.Kind != yaml.ScalarNode || item.Value == "" || len(item.Value) > 100 {
			return wrong(item, "%s: want a word", f.path)
		}
		*p = append(*p, item.Value)
	}
	return nil
}
