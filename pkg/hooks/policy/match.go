package policy

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"mvdan.cc/sh/v3/pattern"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Match returns a matcher of calls that match [ForTool] and [ForArg] with these patterns. An empty
// tool matches every tool.
func Match(tool string, args map[string]string) (hooks.Matcher, error) {
	var matchers []hooks.Matcher
	var errs []error
	add := func(m hooks.Matcher, err error) {
		if err != nil {
			errs = append(errs, err)
			return
		}
		matchers = append(matchers, m)
	}
	if tool != "" {
		add(ForTool(tool))
	}
	for _, key := range slices.Sorted(maps.Keys(args)) {
		add(ForArg(key, args[key]))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return hooks.All(matchers...), nil
}

// ForTool returns a matcher that compares the name of a tool with a pattern, where "*" matches any
// characters. The pattern may also match the [CanonicalTool], so "Bash" matches the shell tool of
// every agent.
func ForTool(tool string) (hooks.Matcher, error) {
	text, err := newText(tool)
	if err != nil {
		return nil, fmt.Errorf("tool pattern %q: %w", tool, err)
	}
	return toolMatcher{text: text, canonical: CanonicalTool(tool)}, nil
}

type toolMatcher struct {
	text      matchText
	canonical string
}

// Match implements [hooks.Matcher].
func (m toolMatcher) Match(_ hooks.Meta, s hooks.Subject) bool {
	if s.Tool == "" {
		return false
	}
	name := CanonicalTool(s.Tool)
	return name == m.canonical || m.text(s.Tool) || m.text(name)
}

// ForArg returns a matcher of calls with an argument that matches a pattern.
//
// The value is compared as a path if key is an argument for file names, or if glob contains "**".
// In a path, "*" does not match "/", and "**/" matches any number of folders. The path is cleaned,
// and can also match relative to Meta.TeamRoot. In other values, "*" matches any characters.
//
// Agents use different names for the same argument. The key "path" also matches "file_path", and
// "command" also matches "cmd". One matching argument is enough, so that a second one cannot hide
// it. Values that are not text do not match.
func ForArg(key, glob string) (hooks.Matcher, error) {
	if key == "" {
		return nil, errors.New("argument pattern: no name of an argument")
	}
	m := argMatcher{key: key, group: group(squash(key))}
	if pathKeys[squash(key)] || strings.Contains(glob, "**") {
		if !doublestar.ValidatePattern(glob) {
			return nil, fmt.Errorf("pattern %q of argument %q: %w", glob, key, doublestar.ErrBadPattern)
		}
		m.glob = path.Clean(slashes(glob))
		return m, nil
	}
	text, err := newText(glob)
	if err != nil {
		return nil, fmt.Errorf("pattern %q of argument %q: %w", glob, key, err)
	}
	m.text = text
	return m, nil
}

func group(name string) map[string]bool {
	switch name {
	case "path", "filepath", "file", "filename":
		return pathKeys
	case "command", "cmd":
		return commandKeys
	}
	return nil
}

type argMatcher struct {
	key   string
	group map[string]bool
	glob  string
	text  matchText
}

// Match implements [hooks.Matcher].
func (m argMatcher) Match(meta hooks.Meta, s hooks.Subject) bool {
	return slices.ContainsFunc(m.values(s), func(value string) bool { return m.matches(value, meta.TeamRoot) })
}

func (m argMatcher) values(s hooks.Subject) []string {
	values := s.Args.Texts(func(name string) bool { return name == m.key || m.group != nil && m.group[squash(name)] })
	if m.glob != "" && pathKeys[squash(m.key)] && writes(hooks.ToolCall{Tool: s.Tool, Args: s.Args}) {
		for _, patch := range s.Args.Texts(func(name string) bool { return patchKeys[squash(name)] }) {
			values = append(values, patchedFiles(patch)...)
		}
	}
	return values
}

func (m argMatcher) matches(value, root string) bool {
	if m.text != nil {
		return m.text(value)
	}
	full := path.Clean(slashes(value))
	rest, ok := below(full, root)
	return doublestar.MatchUnvalidated(m.glob, full) || ok && doublestar.MatchUnvalidated(m.glob, rest)
}

type matchText func(string) bool

func newText(glob string) (matchText, error) {
	switch {
	case glob == "":
		return nil, errors.New("empty")
	case !strings.ContainsAny(glob, `*?[\`):
		return func(s string) bool { return s == glob }, nil
	}
	if _, err := path.Match(glob, ""); err != nil { // rejects "[" without an end
		return nil, fmt.Errorf("parse: %w", err)
	}
	expr, err := pattern.Regexp(glob, pattern.EntireString)
	if err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, errors.New("cannot be compiled")
	}
	return re.MatchString, nil
}

func slashes(text string) string { return strings.ReplaceAll(text, `\`, "/") }
