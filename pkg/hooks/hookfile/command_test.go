package hookfile

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

func commandHook(event, command string, more ...string) string {
	quoted, _ := json.Marshal(command)
	return fmt.Sprintf("hooks:\n  %s:\n    - {type: command, name: it, command: %s, %s}\n", event, quoted, strings.Join(append([]string{"timeout_ms: 30000"}, more...), ", "))
}

func TestCommandAnswers(t *testing.T) {
	tests := []struct {
		name, command         string
		verdict               hooks.Verdict
		reason, args, context string
		success, modified     bool
		fault                 string
	}{
		{name: "Silent", command: `true`, verdict: "none", success: true},
		{name: "White", command: `printf ' \n\n'`, verdict: "none", success: true},
		{name: "Allow", command: `echo '{"action":"allow"}'`, verdict: "allow", success: true},
		{name: "Nulls", command: `echo '{"action":"allow","modified_args":null,"message":null}'`, verdict: "allow", success: true},
		{name: "Block", command: `echo '{"action":"block","message":"no"}'`, verdict: "deny", reason: "no", success: true},
		{name: "Continue", command: `echo '{"action":"continue","context":"mind the gap"}'`, verdict: "none", context: "mind the gap", success: true},
		{name: "Modify", command: `echo '{"action":"modify","modified_args":{"command":"git status -s"}}'`, verdict: "none", args: `{"command":"git status -s"}`, success: true, modified: true},
		{name: "ModifyWithout", command: `echo '{"action":"modify"}'`, verdict: "none", fault: "answer modifies without saying how"},
		{name: "Exit2", command: `echo ' not today ' >&2; exit 2`, verdict: "deny", reason: "not today", success: true},
		{name: "Exit2Silent", command: `exit 2`, verdict: "deny", reason: "denied without a reason", success: true},
		{name: "Exit2AndStdout", command: `echo '{"action":"allow"}'; echo no >&2; exit 2`, verdict: "deny", reason: "no", success: true},
		{name: "NoAction", command: `echo '{"acton":"block"}'`, verdict: "none", fault: "answer has no action that exists"},
		{name: "TwoDocuments", command: `echo '{"action":"allow"}{"action":"block"}'`, verdict: "none", fault: "answer is not one JSON object"},
		{name: "List", command: `echo '[]'`, verdict: "none", fault: "answer is not one JSON object"},
		{name: "Killed", command: `kill -9 $$`, verdict: "none", fault: "program was ended by a signal"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := dispatch(t, register(t, commandHook("PreToolUse", tt.command), Options{}), gitStatus)
			x := one(t, out)
			if tt.args == "" {
				tt.args = `{"command":"git status"}`
			}
			if out.Verdict != tt.verdict || out.Reason != tt.reason || string(out.Args) != tt.args || out.Context != tt.context {
				t.Errorf("got %+v", out)
			}
			if x.Success != tt.success || x.Modified != tt.modified || x.Error != tt.fault || x.Name != "it" {
				t.Errorf("got %+v", x)
			}
		})
	}
}

// TestCommandFailures tests six failures in three modes.
//
//guarantee:hook-fails
func TestCommandFailures(t *testing.T) {
	tests := []struct{ name, command, fault string }{
		{"OtherExit", `echo '{"action":"allow"}'; exit 3`, "exit status 3"},
		{"SpawnError", "", "program not found"},
		{"Timeout", `sleep 30`, "timed out"},
		{"BadJSON", `echo allowed`, "answer is not one JSON object"},
		{"UnknownAction", `echo '{"action":"explode"}'`, "answer has no action that exists"},
		{"TooMuch", `yes`, "answer is too long"},
	}
	for _, tt := range tests {
		for mode, want := range map[string]hooks.Verdict{"warn": hooks.None, "block": hooks.Deny, "ignore": hooks.None} {
			t.Run(tt.name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				file := commandHook("PreToolUse", tt.command, "on_failure: "+mode)
				if tt.command == "" {
					file = "hooks:\n  PreToolUse:\n    - {type: command, name: it, command: [/does/not/exist], on_failure: " + mode + "}\n"
				}
				if tt.fault == "timed out" {
					file = strings.Replace(file, "timeout_ms: 30000", "timeout_ms: 100", 1)
				}
				out := dispatch(t, register(t, file, Options{}), gitStatus)
				if x := one(t, out); x.Success || x.Error != tt.fault || x.TimedOut != (tt.fault == "timed out") {
					t.Errorf("got %+v", x)
				}
				if out.Verdict != want || (want == hooks.Deny) != strings.Contains(out.Reason, "hook it failed: "+tt.fault) {
					t.Errorf("got verdict %s, reason %q", out.Verdict, out.Reason)
				}
			})
		}
	}
}

// The command line comes from the file only. The document cannot change it.
func TestCommandGets(t *testing.T) {
	got := filepath.Join(t.TempDir(), "got")
	call := `{"event":"tool.before","tool":"Bash","args":{"command":"$(touch pwned) '; touch pwned #"},"session_id":"s","timestamp":"2024-01-15T10:30:00Z",
		"agent":"coder","run":"r1","run_type":"PLAN","tenant":"acme","tool_call":"c1","step_count":3}`
	out := dispatch(t, register(t, commandHook("PreToolUse", "cat > "+got), Options{}), call)
	if x := one(t, out); !x.Success {
		t.Fatalf("got %+v", x)
	}
	data, err := os.ReadFile(got)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"event": "PreToolUse", "point": "tool.before", "tool": "Bash", "session_id": "s", "timestamp": "2024-01-15T10:30:00Z",
		"args": map[string]any{"command": "$(touch pwned) '; touch pwned #"}, "agent": "coder", "run": "r1", "run_type": "PLAN",
		"tenant": "acme", "tool_call": "c1", "step_count": 3.0,
		"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "c1",
		"tool_input": map[string]any{"command": "$(touch pwned) '; touch pwned #"},
	}
	var document map[string]any
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, document); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

// A program need not read its input, even if the input is larger than a pipe.
func TestCommandStdin(t *testing.T) {
	big := strings.Replace(gitStatus, "git status", strings.Repeat("x", 500_000), 1)
	for _, command := range []string{`true`, `exec 0<&-; true`, `head -c 10 >/dev/null`} {
		if x := one(t, dispatch(t, register(t, commandHook("PreToolUse", command), Options{}), big)); !x.Success {
			t.Errorf("%s: got %+v", command, x)
		}
	}
	out := dispatch(t, register(t, commandHook("PreToolUse", `wc -c | grep -q 1000[0-9][0-9][0-9] && echo '{"action":"allow"}'`), Options{}), big)
	if out.Verdict != hooks.Allow {
		t.Errorf("the program did not get all: %+v", out)
	}
}

func TestCommandStderr(t *testing.T) {
	out := dispatch(t, register(t, commandHook("PreToolUse", `head -c 3000000 /dev/zero | tr '\0' e >&2; exit 2`), Options{}), gitStatus)
	if out.Verdict != hooks.Deny || len(out.Reason) != maxStderr {
		t.Errorf("got %s with a reason of %d bytes", out.Verdict, len(out.Reason))
	}
}

func TestCommandEnvironment(t *testing.T) {
	allowed := map[string]bool{"_": true, "SHLVL": true, "OLDPWD": true} // set by the shell
	for _, name := range passedOn {
		allowed[name] = true
	}
	for _, name := range []string{
		"NATS_URL", "NATS_CREDS", "NATS_PASSWORD", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS",
		"AZURE_CLIENT_SECRET", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GITHUB_TOKEN", "HOOKTRAIL_NATS_URL",
		"SSH_AUTH_SOCK", "DATABASE_URL", "LC_SECRET_TEST",
	} {
		t.Setenv(name, "s3cr3t")
	}
	t.Setenv("TZ", "UTC")
	t.Setenv("LC_SECRET_TEST", "not a secret")
	got := filepath.Join(t.TempDir(), "env")
	if x := one(t, dispatch(t, register(t, commandHook("PreToolUse", "env > "+got), Options{}), gitStatus)); !x.Success {
		t.Fatalf("got %+v", x)
	}
	data, err := os.ReadFile(got)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "s3cr3t") {
		t.Error("a secret has reached the program")
	}
	if !strings.Contains(string(data), "TZ=UTC\n") || !strings.Contains(string(data), "PATH=") {
		t.Errorf("got environment:\n%s", data)
	}
	for line := range strings.Lines(string(data)) {
		if name, _, _ := strings.Cut(line, "="); !allowed[name] && !strings.HasPrefix(name, "LC_") {
			t.Errorf("the program has got %s", name)
		}
	}
}

// A process that a program leaves behind, or that ignores SIGTERM, does not delay the call. No
// process of the group survives.
func TestCommandGroup(t *testing.T) {
	tests := []struct{ name, command, timeout, fault string }{
		{"LeavesOneBehind", `echo $$ > %s; sleep 30 & exit 0`, "30000", ""},
		{"LeavesManyBehind", `echo $$ > %s; for i in 1 2 3 4 5; do (sleep 30 & sleep 30) & done; exit 0`, "30000", ""},
		{"IgnoresTerm", `trap '' TERM INT HUP; echo $$ > %s; while :; do sleep 1; done`, "200", "timed out"},
		{"ClosesItsOutput", `echo $$ > %s; exec >&- 2>&-; sleep 30`, "200", "timed out"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			fastest, seen := time.Hour, 0
			for i := range 3 { // the machine may be busy, so try three times
				file := filepath.Join(dir, strconv.Itoa(i))
				command := commandHook("PreToolUse", fmt.Sprintf(tt.command, file))
				r := register(t, strings.Replace(command, "timeout_ms: 30000", "timeout_ms: "+tt.timeout, 1), Options{})
				began := time.Now()
				x := one(t, dispatch(t, r, gitStatus))
				fastest = min(fastest, time.Since(began))
				if x.Error != tt.fault {
					t.Errorf("got %+v", x)
				}
				data, err := os.ReadFile(file)
				if err != nil {
					continue // killed before it wrote its id
				}
				seen++
				pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
				if err != nil {
					t.Fatal(err)
				}
				awaitGroupGone(t, pid)
			}
			if fastest > time.Second || seen == 0 {
				t.Errorf("the call took %v; %d of 3 groups were seen", fastest, seen)
			}
		})
	}
}

// A process that has left the group can survive, but does not delay the call.
func TestCommandDaemon(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	r := register(t, commandHook("PreToolUse", fmt.Sprintf(`setsid sh -c 'echo $$ > %s; exec sleep 300' & while [ ! -s %s ]; do :; done; echo '{"action":"allow"}'`, file, file)), Options{})
	began := time.Now()
	out := dispatch(t, r, gitStatus)
	if out.Verdict != hooks.Allow || time.Since(began) > 20*time.Second {
		t.Errorf("got %+v after %v", out, time.Since(began))
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Errorf("end the daemon: %v", err)
	}
}

// awaitGroupGone waits until no process of a group is alive. Zombies are not alive.
func awaitGroupGone(t *testing.T, group int) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		left := aliveIn(t, group)
		if len(left) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("group %d: still alive: %v", group, left)
		}
	}
}

func aliveIn(t *testing.T, group int) []string {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		t.Skip("no /proc here")
	}
	var left []string
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // ended in the meantime
		}
		_, rest, _ := strings.Cut(string(data), ") ")
		fields := strings.Fields(rest) // state ppid pgrp …
		if len(fields) > 2 && fields[2] == strconv.Itoa(group) && fields[0] != "Z" && fields[0] != "X" {
			left = append(left, string(data))
		}
	}
	return left
}
