package ledger_test

import (
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Claude Code asks a person about a call without its id, and a hook denies the question. All readers
// count the call as denied.
func TestReader_SummaryOfDeniedRequest(t *testing.T) {
	list := deniedRequest(t)
	f := ledgertest.NewFeed("acme")
	f.Open("p", time.Hour)
	fold := runtree.Fold{Tenant: "acme"}
	for _, e := range list {
		f.Publish("p", e)
		fold.Add(e)
	}
	f.Manifest("p")
	s, err := readerOf(t, f).Summary(t.Context(), list[0].Run)
	if err != nil {
		t.Fatal(err)
	}
	if shown := fold.Trace(list[0].Run).Denied; shown != 1 || s.ToolDenied != shown {
		t.Errorf("run show has %d denied calls, run list %d", shown, s.ToolDenied)
	}
}

func deniedRequest(t *testing.T) (list []events.Event) {
	t.Helper()
	tool, err := agents.Named("claude-code")
	if err != nil {
		t.Fatal(err)
	}
	const call = `{"session_id":"s1","cwd":"/p","tool_name":"Bash","tool_input":{"command":"git push"}`
	ids, at := agents.SharedCallIDs(t.TempDir()), time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	for _, sent := range []struct {
		payload string
		verdict hooks.Verdict
	}{
		{call + `,"hook_event_name":"PreToolUse","tool_use_id":"t1"}`, hooks.None},
		{call + `,"hook_event_name":"PermissionRequest"}`, hooks.Deny},
	} {
		at = at.Add(time.Second)
		p, err := tool.Parse([]byte(sent.payload), agents.Context{Tenant: "acme", Now: at, CallIDs: ids})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p.Decided(hooks.DocumentOutcome{Point: p.Document.Point, Verdict: sent.verdict, Executions: []hooks.Execution{}})...)
	}
	return list
}
