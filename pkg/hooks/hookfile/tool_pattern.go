package hookfile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

const maxAlternatives = 100

// toolPattern is a compiled pattern of match.tool. Its alternatives are names and globs as in
// [policy.ForTool], regular expressions as in matchers of Claude Code, and rules such as
// Bash(rm *).
type toolPattern struct {
	anyOf

	unknown []string // alternatives that match no tool of a known agent
}

type anyOf []hooks.Matcher

// Match implements [hooks.Matcher].
func (a anyOf) Match(meta hooks.Meta, s hooks.Subject) bool {
	for _, m := range a {
		if m.Match(meta, s) {
			return true
		}
	}
	return false
}

func compileTool(text string) (toolPattern, error) {
	alternatives, err := alternativesOf(text)
	if err != nil {
		return toolPattern{}, err
	}
	var p toolPattern
	for _, one := range alternatives {
		names, args, err := compileAlternative(one)
		if err != nil {
			return toolPattern{}, err
		}
		if args == nil {
			p.anyOf = append(p.anyOf, names)
		} else {
			p.anyOf = append(p.anyOf, hooks.All(names, args))
		}
		if !mayExist(one, names) {
			p.unknown = append(p.unknown, one)
		}
	}
	return p, nil
}

func compileAlternative(text string) (names, args hooks.Matcher, err error) {
	if tool, rule, ok := asRule(text); ok {
		return compileRule(tool, rule)
	}
	if !isRegexp(text) {
		names, err = policy.ForTool(text)
		return names, nil, err
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, nil, fmt.Errorf("regular expression %q cannot be compiled; it has the syntax of Go, without look-ahead", clip(text))
	}
	m := regexpMatcher{re: re}
	if glob, err := policy.ForTool(text); err == nil {
		return anyOf{m, glob}, nil, nil // "own.*" is both, and a guard matches more rather than less
	}
	return m, nil, nil
}

type regexpMatcher struct{ re *regexp.Regexp }

// Match implements [hooks.Matcher].
func (m regexpMatcher) Match(_ hooks.Meta, s hooks.Subject) bool {
	return s.Tool != "" && (m.re.MatchString(s.Tool) || m.re.MatchString(policy.CanonicalTool(s.Tool)))
}

var regexpSyntax = regexp.MustCompile(`[\^$+()|]|\.[*+?{]|\]\*|\\[a-zA-Z.]|\{\d+(,\d*)?\}`)

func isRegexp(text string) bool { return regexpSyntax.MatchString(text) }

// alternativesOf splits "Edit|Write" and "{Edit,Write}*". Groups of a regular expression and
// the parentheses of a rule stay together.
func alternativesOf(text string) ([]string, error) {
	var all []string
	for _, part := range splitOutside(text, "|,") {
		expanded := expandBraces(strings.TrimSpace(part))
		if len(all)+len(expanded) > maxAlternatives {
			return nil, fmt.Errorf("more than %d alternatives", maxAlternatives)
		}
		all = append(all, expanded...)
	}
	if slices.Contains(all, "") {
		return nil, errors.New("an alternative is empty; leave out one separator")
	}
	return all, nil
}

func splitOutside(text, separators string) []string {
	var parts []string
	depth, start := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth = max(depth-1, 0)
		case depth == 0 && strings.IndexByte(separators, c) >= 0:
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}

var braces = regexp.MustCompile(`^([^(\\{}]*)\{([^{}]*,[^{}]*)\}([^{}]*)$`)

func expandBraces(text string) []string {
	m := braces.FindStringSubmatch(text)
	if m == nil || strings.Trim(m[2], "0123456789,") == "" { // {2,3} is a repetition
		return []string{text}
	}
	var all []string
	for word := range strings.SplitSeq(m[2], ",") {
		all = append(all, m[1]+strings.TrimSpace(word)+m[3])
	}
	return all
}
