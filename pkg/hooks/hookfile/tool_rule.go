package hookfile

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

var (
	ruleSyntax = regexp.MustCompile(`(?s)^([A-Za-z][A-Za-z_]*)\((.*)\)$`)
	words      = regexp.MustCompile(`^\w*(\|\w*)+$`)
)

// asRule splits a permission rule of Claude Code, such as Bash(git push *). Task(Create|Update) is a
// regular expression.
func asRule(text string) (tool, rule string, ok bool) {
	m := ruleSyntax.FindStringSubmatch(text)
	if m == nil || words.MatchString(m[2]) || !isKnownTool(m[1]) {
		return "", "", false
	}
	return m[1], strings.TrimSpace(m[2]), true
}

func compileRule(tool, rule string) (names, args hooks.Matcher, err error) {
	if names, err = policy.ForTool(tool); err != nil {
		return nil, nil, err
	}
	if rule == "" || rule == "*" {
		return names, nil, nil
	}
	switch policy.CanonicalTool(tool) {
	case policy.ToolShell:
		args, err = forAny([]string{"command"}, commandPatterns(rule))
	case policy.ToolEdit: // a rule of Claude Code for Edit is about all tools that change files
		write, errWrite := policy.ForTool(policy.ToolWrite)
		if errWrite != nil {
			return nil, nil, errWrite
		}
		names = anyOf{names, write}
		args, err = forAny([]string{"path"}, pathPatterns(rule))
	case policy.ToolWrite, policy.ToolRead:
		args, err = forAny([]string{"path"}, pathPatterns(rule))
	case policy.ToolAgent:
		args, err = forAny([]string{"subagent_type", "agent_name", "agent"}, []string{rule})
	case policy.ToolFetch:
		if domain, ok := strings.CutPrefix(rule, "domain:"); ok {
			args, err = newDomain(domain)
		} else {
			args, err = forAny([]string{"url"}, []string{rule})
		}
	default:
		err = fmt.Errorf("unknown rule %s(…); name the tool and its args: instead", tool)
	}
	return names, args, err
}

func forAny(keys, patterns []string) (hooks.Matcher, error) {
	var all anyOf
	for _, key := range keys {
		for _, pattern := range patterns {
			m, err := policy.ForArg(key, pattern)
			if err != nil {
				return nil, err
			}
			all = append(all, m)
		}
	}
	return all, nil
}

// commandPatterns returns globs for "git *" and its older form "git:*", which also match git alone.
func commandPatterns(rule string) []string {
	prefix, ok := strings.CutSuffix(rule, ":*")
	if !ok {
		prefix, ok = strings.CutSuffix(rule, " *")
	}
	if !ok {
		return []string{rule}
	}
	return []string{prefix, prefix + " *"}
}

// pathPatterns returns globs for a pattern of Claude Code. A name without a folder is about that
// name in all folders, //x is absolute, and /x is below the project. Because many take /x for
// absolute, it is both here.
func pathPatterns(rule string) []string {
	globs := []string{rule}
	switch {
	case strings.HasPrefix(rule, "//"):
		globs = []string{rule[1:]}
	case strings.HasPrefix(rule, "/"):
		globs = append(globs, rule[1:])
	case strings.HasPrefix(rule, "~/"):
		if home, err := os.UserHomeDir(); err == nil {
			globs = append(globs, home+rule[1:])
		}
	case !strings.Contains(strings.TrimSuffix(rule, "/"), "/"):
		globs = []string{"**/" + rule}
	}
	for _, glob := range slices.Clone(globs) { // a pattern of a folder is about its files
		globs = append(globs, strings.TrimSuffix(glob, "/")+"/**")
	}
	return globs
}

type domain struct{ host *regexp.Regexp }

func newDomain(pattern string) (hooks.Matcher, error) {
	if strings.Trim(pattern, "*.") == "" {
		return nil, fmt.Errorf("domain %q: want a name such as example.com", clip(pattern))
	}
	expr := strings.ReplaceAll(regexp.QuoteMeta(strings.ToLower(pattern)), `\*`, ".*")
	re, err := regexp.Compile("^" + expr + "$")
	if err != nil {
		return nil, fmt.Errorf("domain %q: not a name", clip(pattern))
	}
	return domain{host: re}, nil
}

// Match implements [hooks.Matcher].
func (d domain) Match(_ hooks.Meta, s hooks.Subject) bool {
	return slices.ContainsFunc(s.Args.Texts(func(name string) bool { return name == "url" }), func(text string) bool {
		u, err := url.Parse(strings.TrimSpace(text))
		return err == nil && d.host.MatchString(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."))
	})
}
