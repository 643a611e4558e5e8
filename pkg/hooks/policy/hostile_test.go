package policy_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

// Words that look harmless, such as --help as a value, do not prevent a denial.
func TestDestructive_Hidden(t *testing.T) {
	p := newDestructive(t, policy.Options{})
	for command, want := range map[string]events.Verdict{
		// --help that does not print help.
		"find . ! -name --help -delete": hooks.Deny,
		"git -C --help push --force":    hooks.Deny,
		"rm -rf / --help":               hooks.Deny, // BSD programs accept no options after operands
		"rm --help":                     hooks.None,
		"git push --help":               hooks.None,
		"kubectl delete ns --help":      hooks.None,
		// Effects of a preceding option.
		"git checkout -f -B main origin/main": hooks.Deny,
		"git checkout -fb new":                hooks.Deny,
		"git checkout -b new":                 hooks.None,
		"git push --prune origin":             hooks.Deny,
		"rm -rf .GIT":                         hooks.Deny, // file systems can ignore case
		// Paths that leave a temporary directory.
		"rm -rf /tmp/${X:-../etc}":   hooks.Ask,
		"rm -rf /tmp/$(echo ..)/etc": hooks.Ask,
		"rm -rf /tmp/${X:-build}":    hooks.None,
		"rm -rf \"/tmp/${X:?}\"":     hooks.None,
		"rm -rf /tmp/$X":             hooks.None,
	} {
		if v, why := verdictOn(t, p, command); v != want {
			t.Errorf("%s: got %s (%s), want %s", command, v, why, want)
		}
	}
}

// All arguments of the tool belong to the command.
func TestDestructive_Arguments(t *testing.T) {
	p := newDestructive(t, policy.Options{})
	at := hooks.Meta{TeamRoot: "/repo"}
	for args, want := range map[hooks.JSON]events.Verdict{
		`{"command":"git","args":["reset","--hard"]}`:                    hooks.Deny,
		`{"command":"git","arguments":"reset --hard"}`:                   hooks.Deny,
		`{"command":["git"],"args":["status"]}`:                          hooks.None,
		`{"command":"git","args":[7]}`:                                   hooks.Ask,
		`{"command":"ls","args":null}`:                                   hooks.None,
		`{"command":"rm -rf x","workdir":"/opt"}`:                        hooks.Deny,
		`{"command":"rm -rf x","cwd":"~/projects"}`:                      hooks.Deny,
		`{"command":"cd x && rm -rf y","working_directory":"/repo/../"}`: hooks.Deny,
		`{"command":"rm -rf x","cwd":"/repo/sub"}`:                       hooks.None,
		`{"command":"rm -rf x","cwd":"sub"}`:                             hooks.None,
		`{"command":"rm -rf ../x","cwd":"sub"}`:                          hooks.None,
	} {
		d, err := p.PreToolUse(t.Context(), at, hooks.ToolCall{Tool: "Bash", Args: args})
		if err != nil {
			t.Fatal(err)
		}
		got := hooks.None
		if d != nil {
			got = d.Verdict
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", args, got, want)
		}
	}
}

func TestCommands_Hidden(t *testing.T) {
	for _, tt := range []struct {
		pattern, command string
		want             events.Verdict
	}{
		{"git push --force", "git push origin +main", hooks.Deny},
		{"git push -f", "git push origin +HEAD:main", hooks.Deny},
		{"git push --force", "git push origin main", hooks.None},
		{"git push --tags", "git push origin +main", hooks.None},
		{"git push --force", "git -C -- push --force", hooks.Deny},
		{"find -delete", "find -- . -delete", hooks.Deny},
		{"npm run --force", "npm run x -- --force", hooks.None},
	} {
		if v, _ := verdictOn(t, must(policy.NewCommands([]string{tt.pattern}, strict))(t), tt.command); v != tt.want {
			t.Errorf("%q on %q: got %s, want %s", tt.pattern, tt.command, v, tt.want)
		}
	}
}

// A write is found in every argument.
func TestWritePaths_Hidden(t *testing.T) {
	p := must(policy.NewWritePaths([]string{"src/**", "docs/*.md"}, strict))(t)
	at := hooks.Meta{TeamRoot: "/repo"}
	patch := func(lines string) hooks.JSON {
		j, err := hooks.Marshal(map[string]any{"input": lines})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	ask(t, p, []asked{
		{meta: at, tool: "mcp__fs__move_file", args: `{"source":"/etc/x","destination":"src/x"}`, want: writeBlocked("/etc/x")},
		{meta: at, tool: "rename_file", args: `{"path":"src/x","new_path":"src/y","dest":"/etc/x"}`, want: writeBlocked("/etc/x")},
		{meta: at, tool: "fs:write_file", args: `{"path":"b"}`, want: writeBlocked("b")},
		{meta: at, tool: "fs/write_file", args: `{"path":"b"}`, want: writeBlocked("b")},
		{meta: at, tool: "append_file", args: `{"path":"b"}`, want: writeBlocked("b")},
		{meta: at, tool: "copy_file", args: `{"source":"src/a","destination":"b"}`, want: writeBlocked("b")},
		{meta: at, tool: "apply_patch", args: patch("*** Add File: src/a\n+x\n  *** Delete File: /etc/x \n"), want: writeBlocked("/etc/x")},
		{meta: at, tool: "Bash", args: `{"command":"cd .. && apply_patch <<'E'\n*** Add File: src/a\n+x\nE"}`, want: writeBlocked("../src/a")},
		{meta: at, tool: "Bash", args: `{"command":"cd $X && apply_patch <<'E'\n*** Add File: src/a\n+x\nE"}`, want: writeBlocked("…/src/a")},
		{meta: at, tool: "Bash", args: `{"command":["apply_patch","*** Add File: src/a\n+x\n"],"workdir":"/etc"}`, want: writeBlocked("/etc/src/a")},
		{meta: at, tool: "Bash", args: `{"command":"cd src && apply_patch <<'E'\n*** Add File: a\n+x\nE"}`},
	})
}

// On many disks, file names that differ only in case are the same file.
func TestReviewerLockout_Case(t *testing.T) {
	p := must(policy.NewReviewerLockout(strict))(t)
	p.Lockout("src/Auth.ts", "Backend")
	p.Lockout("API/**/*.yaml", "Backend")
	backend := hooks.Meta{Agent: "Backend", TeamRoot: "/Repo"}
	ask(t, p, []asked{
		{meta: backend, tool: "Edit", args: `{"file_path":"SRC/auth.TS"}`, want: lockedOut("Backend", "src/Auth.ts")},
		{meta: backend, tool: "Edit", args: `{"file_path":"/repo/api/x/Y.YAML"}`, want: lockedOut("Backend", "API/**/*.yaml")},
	})
}

func TestForArg_Decoy(t *testing.T) {
	m := must(policy.ForArg("path", "**/.env*"))(t)
	for _, args := range []hooks.JSON{
		`{"path":"ok.txt","file_path":".env"}`, `{"path":".env","file_path":"ok.txt"}`, `{"path":null,"file_path":".env"}`, `{"path":7,"notebook_path":".env"}`,
	} {
		if !m.Match(hooks.Meta{}, hooks.Subject{Tool: "Write", Args: args}) {
			t.Errorf("%s does not match", args)
		}
	}
}

// An empty list differs from the default.
func TestConfig_JSON(t *testing.T) {
	config := policy.Config{AllowedWritePaths: []string{}, BlockedCommands: []string{}}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	var again policy.Config
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config, again); diff != "" {
		t.Errorf("%s (-want +got):\n%s", text, diff)
	}
}
