package policy_test

import (
	"slices"
	"testing"

	"mvdan.cc/sh/v3/syntax"
	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

var rank = map[events.Verdict]int{hooks.None: 0, hooks.Ask: 1, hooks.Deny: 2}

// someCommand draws a command from fragments that matter to policies.
func someCommand(t *rapid.T) string {
	pieces := rapid.SliceOfN(rapid.SampledFrom([]string{
		"rm", "-rf", "-r", "-f", "git", "push", "--force", "--force-with-lease", "reset", "--hard", "rebase", "clean", "-fd", "checkout", "--",
		"x", "/opt/x", "/tmp/x", "$X", "\"$X\"", "~", ".", "*", "sudo", "bash -c", "'rm -rf /opt'", "eval", "xargs", ";", "&&", "|", "cd", "X=/opt;", "$(", ")",
		"find", "-delete", "{}", "echo", "'", "env", "A=1", "\n", "--help", "branch", "-D", "stash", "drop", "curl u",
	}), 0, 9).Draw(t, "pieces")
	var text string
	for _, p := range pieces {
		text += p + " "
	}
	return text
}

func someConfig(t *rapid.T) policy.Config {
	limit := rapid.IntRange(0, 3).Draw(t, "limit")
	return policy.Config{
		Undetermined:         rapid.SampledFrom([]events.Verdict{hooks.None, hooks.Ask, hooks.Deny}).Draw(t, "undetermined"),
		AllowedWritePaths:    rapid.SliceOfN(rapid.SampledFrom(writePatterns), 1, 4).Draw(t, "paths"),
		BlockedCommands:      rapid.SliceOfN(rapid.SampledFrom(blockPatterns), 0, 4).Draw(t, "blocked"),
		MaxAskUserPerSession: &limit,
		ReviewerLockout:      true,
	}
}

var (
	writePatterns = []string{"**", "src/**", "*.md", "docs/*", "/etc/*", "../x/**"}
	blockPatterns = []string{"rm -rf", "git push --force", "git reset --hard", "sudo", "curl *", "git *"}
	writtenPaths  = []string{"src/a", "src/../x", "../x/y", "a.md", "docs/a/b", "/etc/passwd", "src"}
)

// stricter draws a change that makes a configuration stricter.
func stricter(t *rapid.T, c policy.Config) policy.Config {
	switch rapid.IntRange(0, 4).Draw(t, "step") {
	case 0:
		c.BlockedCommands = append(slices.Clone(c.BlockedCommands), rapid.SampledFrom(blockPatterns).Draw(t, "more"))
	case 1:
		i := rapid.IntRange(0, len(c.AllowedWritePaths)-1).Draw(t, "less")
		c.AllowedWritePaths = slices.Delete(slices.Clone(c.AllowedWritePaths), i, i+1)
	case 2:
		limit := max(0, *c.MaxAskUserPerSession-1)
		c.MaxAskUserPerSession = &limit
	case 3:
		c.Undetermined = map[events.Verdict]events.Verdict{hooks.None: hooks.Ask, hooks.Ask: hooks.Deny, hooks.Deny: hooks.Deny}[c.Undetermined]
	default:
		c.Presets = []string{policy.DestructiveCommands}
	}
	return c
}

func TestStrictness(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config := someConfig(t)
		loose, err := policy.New(config)
		if err != nil {
			t.Fatal(err)
		}
		tight, err := policy.New(stricter(t, config))
		if err != nil {
			t.Fatal(err)
		}
		loose.Lockout().Lockout("src/a", "a")
		tight.Lockout().Lockout("src/a", "a")
		if rapid.Bool().Draw(t, "locked") {
			tight.Lockout().Lockout(rapid.SampledFrom(writtenPaths).Draw(t, "artifact"), "a")
		}
		for range 4 {
			call := someCall(t)
			before, after := verdictOf(t, loose, call), verdictOf(t, tight, call)
			if rank[after] < rank[before] {
				t.Fatalf("%s %s: %s became %s", call.Tool, call.Args, before, after)
			}
		}
	})
}

func someCall(t *rapid.T) hooks.ToolCall {
	call := hooks.ToolCall{Tool: rapid.SampledFrom([]string{"Bash", "Write", "ask_user"}).Draw(t, "tool")}
	args, err := hooks.Marshal(map[string]string{
		"command": someCommand(t), "file_path": rapid.SampledFrom(writtenPaths).Draw(t, "path"),
	})
	if err != nil {
		t.Fatal(err)
	}
	call.Args = args
	return call
}

func verdictOf(t *rapid.T, p hooks.PreToolUser, call hooks.ToolCall) events.Verdict {
	d, err := p.PreToolUse(t.Context(), hooks.Meta{Agent: "a", Session: "s"}, call)
	switch {
	case err != nil:
		t.Fatal(err)
	case d == nil:
		return hooks.None
	}
	return d.Verdict
}

// A wrapper never hides a denied command.
func TestDestructive_Wrapped(t *testing.T) {
	p := newDestructive(t, policy.Options{})
	rapid.Check(t, func(t *rapid.T) {
		command := someCommand(t)
		call := func(text string) hooks.ToolCall {
			args, err := hooks.Marshal(map[string]string{"command": text})
			if err != nil {
				t.Fatal(err)
			}
			return hooks.ToolCall{Tool: "Bash", Args: args}
		}
		quoted, err := syntax.Quote(command, syntax.LangBash)
		if err != nil {
			t.Skip("cannot be quoted")
		}
		if verdictOf(t, p, call(command)) != hooks.Deny {
			return
		}
		for _, wrapper := range []string{"bash -c -- ", "eval ", "sudo -u me timeout 5 sh -ec -- ", "true && bash -lc -- ", "ssh host ", "x=1; bash -c -- "} {
			if got := verdictOf(t, p, call(wrapper+quoted)); got != hooks.Deny {
				t.Fatalf("%q is denied, behind %q it gets %s", command, wrapper, got)
			}
		}
	})
}

func FuzzDestructive(f *testing.F) {
	for _, e := range destroyed {
		f.Add(e.command)
	}
	for _, u := range notCovered {
		f.Add(u.example)
	}
	p := newDestructive(f, policy.Options{})
	f.Fuzz(func(t *testing.T, command string) {
		before, _ := verdictOn(t, p, command)
		if again, _ := verdictOn(t, p, command); again != before {
			t.Fatalf("%s became %s", before, again)
		}
		quoted, err := syntax.Quote(command, syntax.LangBash)
		if err != nil || before == hooks.None {
			return
		}
		if after, why := verdictOn(t, p, "bash -c -- "+quoted); after == hooks.None {
			t.Fatalf("%s became %s (%s) in a shell of its own", before, after, why)
		}
	})
}
