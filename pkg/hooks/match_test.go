package hooks

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestGlob(t *testing.T) {
	tests := []struct {
		pattern, s string
		want       bool
	}{
		{"Bash", "Bash", true},
		{"Bash", "bash", false},
		{"Bash", "Bash ", false},
		{"*", "anything/at all\n", true},
		{"rm *", "rm -rf build/x", true},
		{"rm *", "echo rm x", false},
		{"mcp__*__read", "mcp__files__read", true},
		{"mcp__*__read", "mcp____read", true},
		{"mcp__*__read", "mcp__read", false},
		{"*sh", "Bash", true},
		{"*sh*", "Bash", true},
		{"a*a", "a", false},
		{"a*b*c", "axbxbxc", true},
		{"a*b*c", "acb", false},
		{"[a]?", "[a]?", true},
		{"[a]?", "ab", false},
		{"**", "x", true},
	}
	for _, tt := range tests {
		m, err := ForTool(tt.pattern)
		if err != nil {
			t.Errorf("%q: %v", tt.pattern, err)
			continue
		}
		if got := m.Match(Meta{}, Subject{Tool: tt.s}); got != tt.want {
			t.Errorf("%q matches %q: %t", tt.pattern, tt.s, got)
		}
	}
}

func TestGlob_Bad(t *testing.T) {
	for _, pattern := range []string{"", "a\xff"} {
		if _, err := ForTool(pattern); err == nil {
			t.Errorf("%q is a pattern", pattern)
		}
	}
}

func TestGlob_MatchesLikeARegexp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*]{1,8}`).Draw(t, "pattern")
		s := rapid.StringMatching(`[ab]{1,12}`).Draw(t, "s")
		m, err := ForTool(pattern)
		if err != nil {
			t.Fatal(err)
		}
		want := regexp.MustCompile("^" + strings.ReplaceAll(pattern, "*", ".*") + "$").MatchString(s)
		if got := m.Match(Meta{}, Subject{Tool: s}); got != want {
			t.Errorf("%q matches %q: %t", pattern, s, got)
		}
	})
}

func TestMatchers(t *testing.T) {
	must := func(m Matcher, err error) Matcher {
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	tests := []struct {
		name    string
		matcher Matcher
		meta    Meta
		tool    string
		want    bool
	}{
		{"NoTool", must(ForTool("*")), Meta{}, "", false},
		{"AnyAgent", must(ForAgent("*")), Meta{}, "", true},
		{"Agent", must(ForAgent("dev")), Meta{Agent: "dev"}, "", true},
		{"OtherAgent", must(ForAgent("dev")), Meta{Agent: "pm"}, "", false},
		{"RunTypeInAnyCase", must(ForRunType("auto*")), Meta{RunType: "AutoPilot"}, "", true},
		{"OtherRunType", must(ForRunType("AUTOPILOT")), Meta{RunType: "PLAN"}, "", false},
		{"None", All(), Meta{}, "", true},
		{"Both", All(must(ForTool("Bash")), must(ForAgent("dev"))), Meta{Agent: "dev"}, "Bash", true},
		{"One", All(must(ForTool("Bash")), must(ForAgent("dev"))), Meta{Agent: "pm"}, "Bash", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.matcher.Match(tt.meta, Subject{Tool: tt.tool}); got != tt.want {
				t.Errorf("got %t", got)
			}
			r := tidy(t, NewRegistry(Options{}))
			var called []string
			ToolBefore.On(r, says(&called, "", nil), Match(tt.matcher))
			ToolBefore.Dispatch(t.Context(), r, tt.meta, ToolCall{Tool: tt.tool})
			if got := len(called) == 1; got != tt.want {
				t.Errorf("called: %t", got)
			}
		})
	}
}
