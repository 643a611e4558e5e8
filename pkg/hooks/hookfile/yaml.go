package hookfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Limits on the bytes, values and nesting of a hook file. A YAML alias can stand for millions of
// values, and all of them count.
const (
	maxFile  = 1 << 20
	maxNodes = 100_000
	maxDepth = 64
)

type reader struct {
	file     string
	problems []Problem
	warnings []Problem
}

func (r *reader) at(n *yaml.Node, format string, args ...any) Problem {
	return Problem{File: r.file, Line: max(n.Line, 1), Column: max(n.Column, 1), Message: fmt.Sprintf(format, args...)}
}

func (r *reader) wrong(n *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, r.at(n, format, args...))
}

func (r *reader) odd(n *yaml.Node, format string, args ...any) {
	r.warnings = append(r.warnings, r.at(n, format, args...))
}

func (r *reader) root(data []byte) *yaml.Node {
	place := func(offset int, message string) *yaml.Node {
		line, column := position(data, offset)
		r.problems = append(r.problems, Problem{File: r.file, Line: line, Column: column, Message: message})
		return nil
	}
	if len(data) > maxFile {
		return place(0, fmt.Sprintf("the file has %d bytes, at most %d are read", len(data), maxFile))
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if bad := badByte(data); bad >= 0 {
		return place(bad, "a character that no YAML file can have; save it as UTF-8 text")
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithUniqueKeys(false))
	if err != nil {
		return place(0, "cannot be read as YAML")
	}
	var first, second yaml.Node
	switch err := loader.Load(&first); {
	case errors.Is(err, io.EOF):
		return place(0, "the file is empty; want hooks: or policies:")
	case err != nil:
		r.syntax(err)
		return nil
	}
	switch err := loader.Load(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		r.syntax(err)
		return nil
	default:
		r.wrong(&second, "a second document; everything belongs in one")
		return nil
	}
	budget := maxNodes
	return r.resolve(&first, maxDepth, &budget)
}

func (r *reader) syntax(err error) {
	p := Problem{File: r.file, Line: 1, Column: 1, Message: "cannot be read as YAML"}
	if e, ok := errors.AsType[*yaml.LoadError](err); ok {
		p.Message = "not YAML: " + clip(e.Message)
		for _, m := range []yaml.Mark{e.Mark, e.ContextMark} {
			if m.Line > 0 {
				p.Line, p.Column = m.Line, max(m.Column, 1)
				break
			}
		}
	}
	r.problems = append(r.problems, p)
}

func (r *reader) resolve(n *yaml.Node, depth int, budget *int) *yaml.Node {
	if *budget--; *budget == 0 {
		r.wrong(n, "more than %d values, counting what aliases stand for; write fewer", maxNodes)
	}
	if depth == 0 {
		r.wrong(n, "nested more than %d levels deep", maxDepth)
		*budget = min(*budget, 0)
	}
	if *budget <= 0 {
		return nil
	}
	if n.Kind == yaml.AliasNode {
		meant := r.resolve(n.Alias, depth-1, budget)
		if meant == nil {
			return nil
		}
		here := *meant
		here.Line, here.Column = n.Line, n.Column
		return &here
	}
	if n.Kind == yaml.DocumentNode {
		if len(n.Content) != 1 {
			r.wrong(n, "the file is empty; want hooks: or policies:")
			return nil
		}
		return r.resolve(n.Content[0], depth, budget)
	}
	out := *n
	out.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		if out.Content[i] = r.resolve(child, depth-1, budget); out.Content[i] == nil {
			return nil
		}
	}
	return &out
}

func badByte(data []byte) int {
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		switch {
		case c == utf8.RuneError && size == 1, c < ' ' && c != '\t' && c != '\n' && c != '\r', c == 0x7f:
			return i
		}
		i += size
	}
	return -1
}

func position(data []byte, offset int) (line, column int) {
	before := data[:min(offset, len(data))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[start:])
}

type entry struct {
	name  string
	key   *yaml.Node
	value *yaml.Node
}

func (r *reader) entries(n *yaml.Node, what string) []entry {
	if n.Kind != yaml.MappingNode {
		r.wrong(n, "%s: want keys and values, got %s", what, kindOf(n))
		return nil
	}
	var list []entry
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch line, twice := lines[key.Value]; {
		case key.ShortTag() == "!!merge":
			r.wrong(key, "%s: merge keys are not read; write the keys out, or use an alias for a single value", what)
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
			r.wrong(key, "%s: a key has to be text; put it in quotes", what)
		case twice:
			r.wrong(key, "%s: %q is there twice, first in line %d; keep one", what, clip(key.Value), line)
		default:
			lines[key.Value] = key.Line
			list = append(list, entry{name: key.Value, key: key, value: n.Content[i+1]})
		}
	}
	return list
}

func (r *reader) items(n *yaml.Node, what string) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		r.wrong(n, "%s: want a list, each item after a \"-\", got %s", what, kindOf(n))
		return nil
	}
	return n.Content
}

func (r *reader) text(n *yaml.Node, what string) (string, bool) {
	switch {
	case n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" || n.ShortTag() == "!!binary":
		r.wrong(n, "%s: want text, got %s", what, kindOf(n))
	case strings.TrimSpace(n.Value) == "":
		r.wrong(n, "%s: empty; give it a value or leave the key out", what)
	default:
		return n.Value, true
	}
	return "", false
}

func (r *reader) word(n *yaml.Node, what string, words []string) (string, bool) {
	s, ok := r.text(n, what)
	if !ok {
		return "", false
	}
	if slices.Contains(words, s) {
		return s, true
	}
	r.wrong(n, "%s: %q does not exist; %s", what, clip(s), oneOf(s, words))
	return "", false
}

func (r *reader) truth(n *yaml.Node, what string) (value, ok bool) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" && n.Decode(&value) == nil {
		return value, true
	}
	r.wrong(n, "%s: want true or false, got %s", what, kindOf(n))
	return false, false
}

func (r *reader) number(n *yaml.Node, what string, least, most int) (value int, ok bool) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" && n.Decode(&value) == nil && value >= least && value <= most {
		return value, true
	}
	r.wrong(n, "%s: want a whole number from %d to %d, got %s", what, least, most, kindOf(n))
	return 0, false
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "keys and values"
	case yaml.SequenceNode:
		return "a list"
	case yaml.DocumentNode, yaml.AliasNode, yaml.StreamNode:
		return "something else"
	case yaml.ScalarNode:
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!int", "!!float":
		return "the number " + clip(n.Value)
	case "!!bool":
		return n.Value
	}
	return "text"
}
