package verifier_test

import (
	"encoding/json"
	"testing"
	"time"

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

// The denial and the result of a call come from two outboxes, so either can be first in the stream.
//
//guarantee:denied-result
func TestVerify_ResultBeforeItsDenial(t *testing.T) {
	f := opened()
	send := func(producer string, kind events.Kind, payload any) {
		e, err := events.New(kind, "/test", payload)
		if err != nil {
			t.Fatal(err)
		}
		e.ID, e.Run, e.Subject, e.ToolCall = events.DeriveID(producer, string(kind)), "r9", "r9", "toolu_1"
		f.Publish(producer, e)
		f.Manifest(producer)
	}
	send("engine", events.ToolResult, events.ToolResultData{Tool: "Bash", Status: events.ToolSuccess})
	result := int64(len(f.Messages) - 2)
	send("hooks", events.ToolBefore, events.ToolBeforeData{Tool: "Bash", Outcome: events.Outcome{Verdict: events.VerdictDeny}})
	r := verified(t, f)
	want := verifier.DeniedResult{Denied: result + 2, Result: result, Run: "r9", ToolCall: "toolu_1", Producer: "engine"}
	if r.DeniedResultCount != 1 || r.DeniedResults[0] != want || r.Exit != verifier.ExitContradicts {
		t.Errorf("exit %d, %+v, want %+v", r.Exit, r.DeniedResults, want)
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

// recordedAgain returns a feed in which a second producer records a call again.
func recordedAgain(first, again string, change func(e *events.Event)) *ledgertest.Feed {
	f := ledgertest.NewFeed("acme")
	e, err := events.New(events.ToolBefore, "/test", json.RawMessage(first))
	if err != nil {
		panic(err)
	}
	e.ID, e.Run, e.Subject, e.ToolCall, e.User = "known", "r1", "r1", "call-1", "alice@build"
	e = f.Publish("p", e)
	f.Manifest("p")
	e.Data = json.RawMessage(again)
	if change != nil {
		change(&e)
	}
	f.Publish("q", e)
	f.Manifest("q")
	return f
}

// Only the executions of hooks may differ.
//
//guarantee:recorded-twice
func TestVerify_RecordedTwice(t *testing.T) {
	const call, slow, quick = `"tool":"Bash","args":{"command":"ls"}`,
		`"executions":[{"hook":"h1","name":"a","success":true,"duration_ms":14.8,"verdict":"none"}]`,
		`"executions":[{"hook":"h2","name":"a","success":true,"duration_ms":0.1,"verdict":"none"}]`
	const denied = `"executions":[{"hook":"h2","name":"a","success":true,"duration_ms":0.1,"verdict":"deny"}]`
	for name, tt := range map[string]struct {
		first, again string
		change       func(e *events.Event)
		contradicts  bool
	}{
		"Durations":          {first: `{` + call + `,` + slow + `}`, again: `{` + call + `,` + quick + `}`},
		"WithoutHooks":       {first: `{` + call + `}`, again: `{` + call + `,"verdict":"none",` + quick + `}`},
		"BothDenied":         {first: `{` + call + `,"verdict":"deny","reason":"no",` + denied + `}`, again: `{` + call + `,"verdict":"deny","reason":"no"}`},
		"Denied":             {first: `{` + call + `}`, again: `{` + call + `,"verdict":"deny","reason":"no",` + denied + `}`, contradicts: true},
		"DeniedByExecution":  {first: `{` + call + `,` + quick + `}`, again: `{` + call + `,` + denied + `}`, contradicts: true},
		"MilderThanBefore":   {first: `{` + call + `,` + denied + `}`, again: `{` + call + `,"verdict":"none"}`, contradicts: true},
		"AllowedBefore":      {first: `{` + call + `,"verdict":"allow"}`, again: `{` + call + `}`, contradicts: true},
		"OtherReason":        {first: `{` + call + `,"verdict":"none","reason":"a"}`, again: `{` + call + `}`, contradicts: true},
		"OtherArguments":     {first: `{` + call + `}`, again: `{"tool":"Bash","args":{"command":"rm"},` + quick + `}`, contradicts: true},
		"NameTwice":          {first: `{` + call + `,"verdict":"none"}`, again: `{` + call + `,"verdict":"none","Verdict":"deny"}`, contradicts: true},
		"OtherCall":          {first: `{` + call + `}`, again: `{` + call + `,` + quick + `}`, change: func(e *events.Event) { e.ToolCall = "other" }, contradicts: true},
		"OtherCallAlone":     {first: `{` + call + `}`, again: `{` + call + `}`, change: func(e *events.Event) { e.ToolCall = "other" }, contradicts: true},
		"OtherUser":          {first: `{` + call + `}`, again: `{` + call + `,` + quick + `}`, change: func(e *events.Event) { e.User = "mallory@build" }, contradicts: true},
		"OtherUserAlone":     {first: `{` + call + `}`, again: `{` + call + `}`, change: func(e *events.Event) { e.User = "mallory@build" }, contradicts: true},
		"NoUser":             {first: `{` + call + `}`, again: `{` + call + `,` + quick + `}`, change: func(e *events.Event) { e.User = "" }},
		"OtherRun":           {first: `{` + call + `}`, again: `{` + call + `,` + quick + `}`, change: func(e *events.Event) { e.Run = "r2" }, contradicts: true},
		"CustomEvent":        {first: `{` + call + `}`, again: `{` + call + `,` + quick + `}`, change: func(e *events.Event) { e.Type = events.Custom.Type() }, contradicts: true},
		"ExecutionsOfAnyone": {first: `{` + call + `}`, again: `{` + call + `,"executions":"none"}`, contradicts: true},
	} {
		t.Run(name, func(t *testing.T) {
			key := ledgertest.NewKey(t)
			path := ledgertest.Write(t, t.TempDir(), key, recordedAgain(tt.first, tt.again, tt.change), 40)
			r := ledgertest.Verify(t, path, key, verifier.Options{Silence: time.Hour})
			exit, twice := verifier.ExitVerified, int64(1)
			if tt.contradicts {
				exit, twice = verifier.ExitContradicts, 0
			}
			if r.Exit != exit || r.RecordedTwice != twice || r.Contradictions != 1-twice || len(r.Findings) != 1 || r.SetApart != 1 {
				t.Fatalf("got exit %d, %d recorded twice, %d contradictions, %+v", r.Exit, r.RecordedTwice, r.Contradictions, r.Findings)
			}
			if got := r.Findings[0]; got.First == nil || *got.First != 0 || got.RecordedTwice == tt.contradicts {
				t.Errorf("got %+v", got)
			}
		})
	}
}
