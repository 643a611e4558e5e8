package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// quickHooks change nothing, except for one that denies a sub-agent, which the agent ignores.
const quickHooks = `
hooks:
  tool.before: [{type: command, name: quick, command: "true"}]
  tool.result: [{type: command, name: quick, command: "true"}]
  prompt.submit: [{type: command, name: quick, command: "true"}]
  subagent.start: [{type: command, name: no, command: "echo no >&2; exit 2"}]
`

// Two hook commands record each payload of a session, as with hooks for both the user and the
// project, and a log of the payloads is imported too. The executions of the hooks differ, which is
// not a finding.
//
//guarantee:recorded-twice
func TestHook_RecordedTwice(t *testing.T) {
	dir := t.TempDir()
	hooks, log := filepath.Join(t.TempDir(), "hooks.yaml"), filepath.Join(t.TempDir(), "log.jsonl")
	if err := os.WriteFile(hooks, []byte(quickHooks), 0o600); err != nil {
		t.Fatal(err)
	}
	const capture = "claude-code/captured-2.1.329"
	names, bodies := payloads(t, capture)
	var lines []byte
	for i, body := range bodies {
		var payload json.RawMessage
		if err := json.Unmarshal(body, &payload); err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(payload) // on one line
		if err != nil {
			t.Fatal(err)
		}
		lines = append(append(lines, line...), '\n')
		if decided := strings.Contains("PreToolUse.PostToolUse.UserPromptSubmit.SubagentStart", names[i]); decided && i < 12 || names[i] == "SubagentStart" {
			for range 2 {
				feed(t, body, 0, "publisher", hookArgs(dir, names[i], captures[capture], "--hooks", hooks)...)
			}
		}
	}
	if err := os.WriteFile(log, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, 0, "publisher", "import", "--format", "hook-log", "--no-wait", "--data-dir", dir, log)
	run(t, 0, "publisher", "outbox", "flush", "--data-dir", dir)
	run(t, 0, "auditor", "serve", "--drain", "--data-dir", dir)
	out := run(t, 0, "auditor", "verify", "--json", "--data-dir", dir)
	var r verifier.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if r.RecordedTwice < 8 || r.RecordedTwice != r.SetApart || r.Contradictions != 0 {
		t.Errorf("%d of %d records set apart were recorded twice, %d contradict", r.RecordedTwice, r.SetApart, r.Contradictions)
	}
	bundle := filepath.Join(t.TempDir(), "all.zip")
	run(t, 0, "auditor", "export", "--format", "bundle", "--out", bundle, "--data-dir", dir)
	run(t, 0, "auditor", "verify", bundle, "--data-dir", dir)
}

// A log of hook payloads without the end of its session is sealed, so its run does not count as one
// that stopped, however long ago it was.
func TestHookLog_WithoutEnd(t *testing.T) {
	dir, log := t.TempDir(), filepath.Join(t.TempDir(), "log.jsonl")
	lines := `{"hook_event_name":"PostToolUse","session_id":"s1","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t1","tool_response":{"stdout":"a"}}
{"hook_event_name":"PostToolUse","session_id":"s2","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t2","tool_response":{"stdout":"a"}}
`
	if err := os.WriteFile(log, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, 0, "publisher", "import", "--format", "hook-log", "--no-wait", "--data-dir", dir, log)
	run(t, 0, "auditor", "serve", "--drain", "--data-dir", dir)
	var r verifier.Report
	if err := json.Unmarshal([]byte(run(t, 0, "auditor", "verify", "--json", "--silence", "1ns", "--data-dir", dir)), &r); err != nil {
		t.Fatal(err)
	}
	if r.Runs.Sealed != 2 || r.Runs.Open != 0 || r.Runs.Unsealed != 0 || r.Completeness != verifier.Complete {
		t.Errorf("got %s, runs %+v", r.Completeness, r.Runs)
	}
}
