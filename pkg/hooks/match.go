package hooks

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Subject is what a matcher sees of a dispatch besides its Meta. Points that
// are about no tool call have an empty one.
type Subject struct {
	Tool string
	Args JSON // as patched so far
}

// Matcher chooses the dispatches that a hook is called for. Match may be called
// concurrently. It runs as part of the hook, under its deadline; one that
// panics fails the hook.
type Matcher interface {
	Match(meta Meta, subject Subject) bool
}

// ForTool returns a matcher of tools by name; '*' is any run of characters.
// It does not match what is no tool call.
func ForTool(pattern string) (Matcher, error) { return newGlob(globTool, pattern) }

// ForAgent returns a matcher of Meta.Agent; '*' is any run of characters, so
// that "*" alone is every agent.
func ForAgent(pattern string) (Matcher, error) { return newGlob(globAgent, pattern) }

// ForRunType returns a matcher of Meta.RunType in any case; '*' is any run of
// characters.
func ForRunType(pattern string) (Matcher, error) {
	return newGlob(globRunType, strings.ToUpper(pattern))
}

// All returns a matcher that matches where each of matchers does: always, if
// there are none.
func All(matchers ...Matcher) Matcher {
	var all allOf
	for _, m := range matchers {
		switch m := m.(type) {
		case nil:
		case allOf:
			all = append(all, m...)
		default:
			all = append(all, m)
		}
	}
	return all
}

type allOf []Matcher

// Match tells whether all match.
func (a allOf) Match(meta Meta, s Subject) bool {
	for _, m := range a {
		if !m.Match(meta, s) {
			return false
		}
	}
	return true
}

// matchesTool reports whether m matches tool calls only.
func matchesTool(m Matcher) bool {
	switch m := m.(type) {
	case *glob:
		return m.of == globTool
	case allOf:
		return slices.ContainsFunc(m, matchesTool)
	}
	return false
}

// globOf is what a glob looks at.
type globOf uint8

const (
	globTool globOf = iota
	globAgent
	globRunType
)

// glob is a compiled pattern: what stands between its stars.
type glob struct {
	of      globOf
	pattern string
	parts   []string // one: no star; else what begins, what follows in order, what ends
}

func newGlob(of globOf, pattern string) (Matcher, error) {
	switch {
	case pattern == "":
		return nil, errors.New("pattern: empty")
	case !utf8.ValidString(pattern):
		return nil, fmt.Errorf("pattern %q: not valid UTF-8", pattern)
	}
	return &glob{of: of, pattern: pattern, parts: strings.Split(pattern, "*")}, nil
}

// Match tells whether the pattern matches.
func (g *glob) Match(meta Meta, s Subject) bool { return g.match(&meta, s.Tool) }

func (g *glob) match(meta *Meta, tool string) bool {
	switch g.of {
	case globTool:
		return tool != "" && g.covers(tool)
	case globAgent:
		return g.covers(meta.Agent)
	case globRunType:
		return g.covers(strings.ToUpper(meta.RunType))
	}
	return false
}

// covers tells whether the pattern matches all of s, in time linear in s for
// each part.
func (g *glob) covers(s string) bool {
	last := len(g.parts) - 1
	if last == 0 {
		return s == g.pattern
	}
	s, ok := strings.CutPrefix(s, g.parts[0])
	if !ok {
		return false
	}
	for _, part := range g.parts[1:last] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return strings.HasSuffix(s, g.parts[last])
}
