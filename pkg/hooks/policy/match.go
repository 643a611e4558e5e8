package policy

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"mvdan.cc/sh/v3/pattern"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Match returns a matcher of calls of the tools that the pattern tool names,
// with the arguments that args have patterns for; see [ForTool] and [ForArg].
// An empty tool is every tool. It returns all errors at once.
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
	keys := make([]string, 0, len(args))
	for key := range args {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		add(ForArg(key, args[key]))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return hooks.All(matchers...), nil
}

// ForTool returns a matcher of tools by name: the one that the agent uses or the
// one that [CanonicalTool] gives it, so that "Bash" and "run_shell_command" both
// match the shell of every agent. In the pattern "*" is any run of characters.
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

// Match compares the name of the tool.
func (m toolMatcher) Match(_ hooks.Meta, s hooks.Subject) bool {
	if s.Tool == "" {
		return false
	}
	name := CanonicalTool(s.Tool)
	return name == m.canonical || m.text(s.Tool) || m.text(name)
}

// ForArg returns a matcher of calls whose argument key matches a pattern.
//
// An argument that names a file, and a pattern with "**", is matched as a path:
// "*" stops at "/", "**/" is any number of folders. The path is cleaned first,
// and seen from Meta.TeamRoot if it is below. In everything else "*" is any run
// of characters: "rm *" matches "rm -rf x" and not "echo rm x".
//
// Agents spell arguments differently: "path" stands for "file_path" and its like
// too, "command" for "cmd", and one that matches is enough, so that no second
// argument hides the first. An argument that is missing, or is no text, does not
// match.
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

// group returns the names that mean the same argument.
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
	glob  string    // a pattern of paths
	text  matchText // or of other text
}

// Match compares the argument.
func (m argMatcher) Match(meta hooks.Meta, s hooks.Subject) bool {
	for _, value := range m.values(s.Args) {
		if m.matches(value, meta.TeamRoot) {
			return true
		}
	}
	return false
}

// values returns the argument, and what others call it.
func (m argMatcher) values(args hooks.JSON) []string {
	return args.Texts(func(name string) bool { return name == m.key || m.group != nil && m.group[squash(name)] })
}

func (m argMatcher) matches(value, root string) bool {
	if m.text != nil {
		return m.text(value)
	}
	full := path.Clean(slashes(value))
	rest, ok := below(full, root)
	return doublestar.MatchUnvalidated(m.glob, full) || ok && doublestar.MatchUnvalidated(m.glob, rest)
}

// matchText tells whether a text matches a pattern.
type matchText func(string) bool

// newText compiles a pattern in which "*" is any run of characters.
func newText(glob string) (matchText, error) {
	switch {
	case glob == "":
		return nil, errors.New("empty")
	case !strings.ContainsAny(glob, `*?[\`):
		return func(s string) bool { return s == glob }, nil
	}
	if _, err := path.Match(glob, ""); err != nil { // "[" without end
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
