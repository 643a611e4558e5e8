package verifier_test

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func deniedFeed(later events.ToolStatus) *ledgertest.Feed {
	f := ledgertest.NewFeed("acme")
	f.Event("p", "r1", events.RunStarted, events.RunStartedData{Title: "t"})
	f.Event("p", "r1", events.ToolBefore, events.ToolBeforeData{
		Tool: "Bash", Outcome: events.Outcome{Verdict: events.VerdictDeny, Reason: "no"},
	})
	f.Event("p", "r1", events.RunFinished, events.RunFinishedData{Success: true})
	f.Seal("p", "r1")
	f.Manifest("p")
	f.Event("q", "r1", events.ToolResult, events.ToolResultData{Tool: "Bash", Status: later})
	f.Seal("q", "r1")
	f.Manifest("q")
	return f
}

//guarantee:denied-result
func TestVerify_ResultOfADeniedCall(t *testing.T) {
	key := ledgertest.NewKey(t)
	path := ledgertest.Write(t, t.TempDir(), key, deniedFeed(events.ToolSuccess), 40)
	r := ledgertest.Verify(t, path, key, verifier.Options{})
	ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Complete)
	want := verifier.DeniedResult{Denied: 1, Result: 5, Run: "r1", ToolCall: "call-1", Producer: "q"}
	if r.Exit != verifier.ExitContradicts || r.DeniedResultCount != 1 || r.DeniedResults[0] != want {
		t.Errorf("got exit %d, %+v, want %d, %+v", r.Exit, r.DeniedResults, verifier.ExitContradicts, want)
	}
	path = ledgertest.Write(t, t.TempDir(), key, deniedFeed(events.ToolError), 40)
	if r := ledgertest.Verify(t, path, key, verifier.Options{}); r.Exit != verifier.ExitVerified {
		t.Errorf("a denied call with an error: exit %d, %+v", r.Exit, r.DeniedResults)
	}
}

//guarantee:id-taken
func TestVerify_SameIDWithOtherContent(t *testing.T) {
	key, f := ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	first := f.Event("p", "r1", events.Custom, events.CustomData{Name: "harmless"})
	f.Manifest("p")
	e, err := events.New(events.Custom, "/test", events.CustomData{Name: "another"})
	if err != nil {
		t.Fatal(err)
	}
	e.ID, e.Run, e.Subject = first.ID, "r1", "r1"
	f.Publish("q", e)
	f.Manifest("q")
	path := ledgertest.Write(t, t.TempDir(), key, f, 40)
	r := ledgertest.Verify(t, path, key, verifier.Options{})
	if r.Exit != verifier.ExitContradicts || r.Contradictions != 1 || len(r.Findings) != 1 {
		t.Fatalf("got exit %d, %+v", r.Exit, r.Findings)
	}
	got := r.Findings[0]
	if got.Finding != ledger.FindingIDReused || got.First == nil || *got.First != 0 || got.Leaf != 2 {
		t.Errorf("got %+v, want both leaves", got)
	}
}
