package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

// run runs a hook command as an agent does, in a folder without other programs than sh.
func run(t *testing.T, line, path, stdin string) (stdout, stderr string, status int) {
	t.Helper()
	shells := [][]string{{"/bin/sh", "-c"}}
	if bash, err := exec.LookPath("bash"); err == nil {
		shells = append(shells, []string{bash, "-c"})
	}
	for i, shell := range shells {
		cmd := exec.CommandContext(t.Context(), shell[0], shell[1], line)
		cmd.Env = []string{"PATH=" + path}
		cmd.Stdin = strings.NewReader(stdin)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		exit, isExit := errors.AsType[*exec.ExitError](err)
		if err != nil && !isExit {
			t.Fatal(err)
		}
		now := 0
		if isExit {
			now = exit.ExitCode()
		}
		if i > 0 && (out.String() != stdout || now != status) {
			t.Errorf("%v: got %q, status %d, and from sh %q, status %d", shell, out.String(), now, stdout, status)
		}
		stdout, stderr, status = out.String(), errs.String(), now
	}
	return stdout, stderr, status
}

// onlySh returns a folder for PATH that has sh and nothing else.
func onlySh(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink("/bin/sh", filepath.Join(dir, "sh")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// denials are the answers that each agent reads as a denial. REASON stands for the
// reason.
var denials = map[string]map[string]string{
	"claude-code": {
		"PreToolUse":        `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"REASON"}}`,
		"PermissionRequest": `{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"REASON"},"hookEventName":"PermissionRequest"}}`,
		"UserPromptSubmit":  `{"decision":"block","reason":"REASON"}`,
		"PreCompact":        `{"decision":"block","reason":"REASON"}`,
	},
	"codex": {
		"PreToolUse":        `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"REASON"}}`,
		"PermissionRequest": `{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"REASON"},"hookEventName":"PermissionRequest"}}`,
		"UserPromptSubmit":  `{"decision":"block","reason":"REASON"}`,
		"PreCompact":        `{"continue":false,"stopReason":"REASON"}`,
	},
	"copilot-cli": {
		"preToolUse":        `{"permissionDecision":"deny","permissionDecisionReason":"REASON"}`,
		"permissionRequest": `{"behavior":"deny","message":"REASON"}`,
	},
	"gemini-cli": {
		"BeforeTool":  `{"decision":"deny","reason":"REASON"}`,
		"BeforeAgent": `{"decision":"deny","reason":"REASON"}`,
	},
}

// TestCommandLine_Missing checks each installed command without its program. The agent
// continues undisturbed, or with --fail-closed gets a denial that names the remedy.
//
//guarantee:program-missing
func TestCommandLine_Missing(t *testing.T) {
	path := onlySh(t)
	for i := range tools {
		tool := &tools[i]
		for _, program := range []string{"publisher", "/does/not/exist/it's here/publisher"} {
			for _, event := range tool.events {
				opts := Options{Program: termtext.ShellQuote(program)}
				stdout, stderr, status := run(t, tool.commandLine(opts, event), path, "{}")
				if stdout+stderr != "" || status != 0 {
					t.Errorf("%s %s: got %q, %q, status %d, want silence", tool.name, event, stdout, stderr, status)
				}
				opts.Flags = "--tenant acme --fail-closed"
				stdout, stderr, status = run(t, tool.commandLine(opts, event), path, "{}")
				want := ""
				if form := denials[tool.name][event]; form != "" {
					want = strings.Replace(form, "REASON", closedReason(opts.Program, tool.name), 1) + "\n"
					if !json.Valid([]byte(stdout)) || !strings.Contains(stdout, program) || !strings.Contains(stdout, "publisher install "+tool.name) {
						t.Errorf("%s %s: no remedy in %q", tool.name, event, stdout)
					}
				}
				if diff := cmp.Diff(want, stdout); diff != "" || stderr != "" || status != 0 {
					t.Errorf("%s %s, fail-closed: status %d, %q (-want +got):\n%s", tool.name, event, status, stderr, diff)
				}
			}
		}
	}
}

// TestCommandLine_Runs checks that the program gets the payload and the flags, and that
// the agent gets its answer. A program that is killed or fails counts like a missing one.
//
//guarantee:program-missing
func TestCommandLine_Runs(t *testing.T) {
	dir := onlySh(t)
	write(t, filepath.Join(dir, "publisher"), "#!/bin/sh\nread -r line\necho \"$* $line\"\neval \"$line\"\n")
	if err := os.Chmod(filepath.Join(dir, "publisher"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range tools {
		tool := &tools[i]
		for event, form := range denials[tool.name] {
			for payload, closed := range map[string]int{"exit 0": 0, "exit 2": 2, "exit 3": -1, "kill -9 $$": -1} {
				words := "hook " + tool.name
				if tool.eventArgument {
					words += " " + event
				}
				opts := Options{Program: "publisher"}
				stdout, stderr, status := run(t, tool.commandLine(opts, event), dir, payload+"\n")
				if want := words + " " + payload + "\n"; stdout != want || status != 0 {
					t.Errorf("%s %s, %s: got %q, %q, status %d", tool.name, event, payload, stdout, stderr, status)
				}
				opts.Flags = "--fail-closed"
				stdout, stderr, status = run(t, tool.commandLine(opts, event), dir, payload+"\n")
				want := words + " --fail-closed " + payload + "\n"
				if closed < 0 {
					want, closed = want+strings.Replace(form, "REASON", closedReason(opts.Program, tool.name), 1)+"\n", 0
				}
				if stdout != want || status != closed {
					t.Errorf("%s %s, fail-closed, %s: got %q, %q, status %d", tool.name, event, payload, stdout, stderr, status)
				}
			}
		}
	}
}

// TestCommandLine_Faster checks that hooktrail-hook runs if it exists, then publisher, and then
// nothing or a denial.
//
//guarantee:program-missing
func TestCommandLine_Faster(t *testing.T) {
	dir := onlySh(t)
	add := func(name string) {
		write(t, filepath.Join(dir, name), "#!/bin/sh\nread -r line\necho \""+name+" $* $line\"\n")
		if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(name string) {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range tools {
		tool := &tools[i]
		for event, form := range denials[tool.name] {
			opts := Options{Program: "publisher", Hook: "hooktrail-hook", Flags: "--tenant acme --fail-closed"}
			args := tool.name
			if tool.eventArgument {
				args += " " + event
			}
			args += " " + opts.Flags + " payload\n"
			add("publisher")
			add("hooktrail-hook")
			line := tool.commandLine(opts, event)
			for _, step := range []struct{ removed, want string }{
				{"", "hooktrail-hook " + args},
				{"hooktrail-hook", "publisher hook " + args},
				{"publisher", strings.Replace(form, "REASON", closedReason(opts.Program, tool.name), 1) + "\n"},
			} {
				if step.removed != "" {
					remove(step.removed)
				}
				if stdout, stderr, status := run(t, line, dir, "payload\n"); stdout != step.want || stderr != "" || status != 0 {
					t.Errorf("%s %s without %s: got %q, %q, status %d; want %q", tool.name, event, step.removed, stdout, stderr, status, step.want)
				}
			}
			opts.Flags = ""
			if stdout, stderr, status := run(t, tool.commandLine(opts, event), dir, "payload\n"); stdout+stderr != "" || status != 0 {
				t.Errorf("%s %s without programs: got %q, %q, status %d", tool.name, event, stdout, stderr, status)
			}
			if !oursOf(tool.name, "publisher").wrote(line) || programOf(line) != "publisher" {
				t.Errorf("not recognised, or it runs %s: %s", programOf(line), line)
			}
		}
	}
}

// Commands of this and of older versions are recognised, and others are not.
func TestOurs_Wrote(t *testing.T) {
	recognise := oursOf("codex", "publisher", "it's")
	quoted := termtext.ShellQuote("/a b/it's")
	for _, flags := range []string{"", "--tenant 'a b'", "--fail-closed"} {
		for i := range tools {
			for _, hook := range []string{"", "hooktrail-hook", "'/a b/hooktrail-hook'"} {
				line := tools[i].commandLine(Options{Program: quoted, Hook: hook, Flags: flags}, "PreToolUse")
				if got, want := recognise.wrote(line), tools[i].name == "codex"; got != want {
					t.Errorf("%s: got %v", line, got)
				}
			}
		}
	}
	for line, want := range map[string]bool{
		"publisher hook codex":         true,
		"/x/publisher hook codex --a":  true,
		quoted + " hook codex":         true,
		"sh -c 'publisher hook codex'": false,
		"command -v publisher":         false,
		"command -v publisher >/dev/null 2>&1 && other hook codex; exit 0":  false,
		"command -v publisher >/dev/null 2>&1 && publisher hook codexes":    false,
		"command -v publisher >/dev/null 2>&1 || publisher hook codex":      false,
		"sh -c 'command -v publisher >/dev/null 2>&1 && ./mine hook codex'": false,
	} {
		if got := recognise.wrote(line); got != want {
			t.Errorf("%s: got %v", line, got)
		}
	}
}
