package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile"
)

// Sessions that only logs or decisions report are sealed, with an unknown end.
//
//guarantee:idle-sealed
func TestRun_SealsSessionsWithoutEnd(t *testing.T) {
	hooks, err := hookfile.Parse("hooks.yaml", []byte("hooks:\n  PreToolUse:\n    - {type: matcher, name: n, match: {tool: Write}, action: block}\n"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := startUp(t, dir, func(o *Options) { o.Hooks = hooks })
	r.until(t, "ready", isReady)
	send := func(path, body string) {
		if status, answer, err := ask(http.Post(r.HTTP+path, "application/json", strings.NewReader(body))); err != nil || status != http.StatusOK {
			t.Fatalf("%s: got %d, %v: %s", path, status, err, answer)
		}
	}
	sessions := map[string]string{"claude_code": "session.id", "codex": "conversation.id", "gemini_cli": "session.id", "qwen-code": "session.id"}
	for agent, session := range sessions {
		send("/v1/logs", fmt.Sprintf(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"1746026930220515904","attributes":[
			{"key":"event.name","value":{"stringValue":"%s.user_prompt"}},{"key":%q,"value":{"stringValue":%q}}]}]}]}]}`, agent, session, agent))
	}
	send("/v1/decisions", `{"event":"PreToolUse","tool":"Bash","args":{},"session_id":"decided"}`)
	r.stop()
	path, report := reportOf(t, dir)
	if report.Completeness != verifier.Complete || report.Runs.Sealed != 5 || report.Runs.Open+report.Runs.Unsealed != 0 {
		t.Errorf("got %s, %+v", report.Completeness, report.Runs)
	}
	reader, err := ledger.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for _, run := range []string{"claude_code", "codex", "gemini_cli", "qwen-code", "decided"} {
		if s, err := reader.Summary(t.Context(), run); err != nil || s.State != ledger.RunUnknown || s.Finished.Reason != events.ReasonEndOfLog || !s.Sealed {
			t.Errorf("%s: got %s %+v, sealed %v, %v", run, s.State, s.Finished, s.Sealed, err)
		}
	}
}

// A session that continues after such an end is open until the next one.
//
//guarantee:idle-sealed
func TestRun_SessionContinuesAfterSilence(t *testing.T) {
	hooks, err := hookfile.Parse("hooks.yaml", []byte("hooks:\n  PreToolUse:\n    - {type: matcher, name: n, match: {tool: Write}, action: block}\n"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for range 2 {
		r := startUp(t, dir, func(o *Options) { o.Hooks = hooks })
		r.until(t, "ready", isReady)
		status, answer, err := ask(http.Post(r.HTTP+"/v1/decisions", "application/json", strings.NewReader(`{"event":"PreToolUse","tool":"Bash","args":{},"session_id":"s"}`)))
		if err != nil || status != http.StatusOK {
			t.Fatalf("got %d, %v: %s", status, err, answer)
		}
		untilRun(t, dir, func(s ledger.RunSummary) bool { return s.State == ledger.RunOpen && s.Finished == nil && !s.Sealed })
		r.stop()
		untilRun(t, dir, func(s ledger.RunSummary) bool { return s.State == ledger.RunUnknown && s.Sealed })
	}
	if _, report := reportOf(t, dir); report.Completeness != verifier.Complete || report.Runs.Sealed != 1 || report.Runs.Open+report.Runs.Unsealed != 0 {
		t.Errorf("got %s, %+v", report.Completeness, report.Runs)
	}
}

func untilRun(t *testing.T, dir string, ok func(ledger.RunSummary) bool) {
	t.Helper()
	path, err := ledger.Path(auditor.LedgerDir(dir), "default")
	if err != nil {
		t.Fatal(err)
	}
	var s ledger.RunSummary
	for range 1000 {
		if r, err := ledger.OpenReader(path); err == nil {
			s, err = r.Summary(t.Context(), "s")
			if r.Close() == nil && err == nil && ok(s) {
				return
			}
		}
		time.Sleep(30 * time.Millisecond)
	}
	t.Fatalf("the run is %s, finished %+v, sealed %t", s.State, s.Finished, s.Sealed)
}
