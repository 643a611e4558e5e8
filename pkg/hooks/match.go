package hooks

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Subject is the tool call of a dispatch. Without a tool call it is empty.
type Subject struct {
	Tool string
	Args JSON // arguments after the patches of earlier hooks
}

// Matcher selects the tool calls and other actions for which a hook is called. The time of Match is
// part of the hook's timeout, and a panic in Match counts as a failure of the hook. Match must be
// safe for concurrent use.
type Matcher interface {
	Match(meta Meta, subject Subject) bool
}

// ForTool returns a Matcher that compares the name of the tool with pattern. In pattern, '*'
// matches any characters. If the hook is not called for a tool call, the Matcher returns false.
func ForTool(pattern string) (Matcher, error) { return newGlob(globTool, pattern) }

// ForAgent returns a matcher of Meta.Agent, where '*' matches any characters, or none at all.
func ForAgent(pattern string) (Matcher, error) { return newGlob(globAgent, pattern) }

// ForRunType returns a matcher of Meta.RunType that ignores case. In pattern, '*' matches any
// characters.
func ForRunType(pattern string) (Matcher, error) {
	return newGlob(globRunType, strings.ToUpper(pattern))
}

// All returns a matcher that matches if all matchers match. Without matchers, it always matches.
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

// Match reports whether all matchers match.
func (a allOf) Match(meta Meta, s Subject) bool {
	for _, m := range a {
		if !m.Match(meta, s) {
			return false
		}
	}
	return true
}

func matchesTool(m Matcher) bool {
	switch m := m.(type) {
	case *glob:
		return m.of == globTool
	case allOf:
		return slices.ContainsFunc(m, matchesTool)
	}
	return false
}

type globOf uint8

const (
	globTool globOf = iota
	globAgent
	globRunType
)

type glob struct {
	of      globOf
	pattern string
	parts   []string // parts of the pattern between the stars
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

// Match reports whether the pattern matches.
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
