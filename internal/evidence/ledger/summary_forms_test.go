package ledger_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Any client can send a payload that is not of its kind. Such an event counts, and hides no other.
//
//guarantee:one-reading
func TestReader_SummaryOfInvalidPayloads(t *testing.T) {
	f := ledgertest.NewFeed("acme")
	f.Open("p", time.Hour)
	for kind, data := range map[events.Kind]string{
		events.RunStarted: `{"title":5}`, events.SessionStart: `{"model":5}`, events.PromptSubmit: `{"prompt":5}`,
		events.ToolBefore: `{"tool":5}`, events.ToolResult: `{"status":"error","duration_ms":"x"}`, events.Approval: `{"tool":5}`,
		events.StepFinished: `{"step_status":5}`, events.ResponseCompleted: `{"tokens_used":5}`, events.SubagentStart: `{"subagent":5}`,
		events.RunFinished: `{"success":5}`, events.Error: `5`,
	} {
		f.Publish("p", ledgertest.Form{Kind: kind, Data: data}.Event("c1"))
	}
	f.Publish("p", ledgertest.Form{Kind: events.ToolBefore, Data: `{"tool":"Bash"}`}.Event("c2"))
	f.Manifest("p")
	s, err := readerOf(t, f).Summary(t.Context(), "r9")
	if err != nil {
		t.Fatal(err)
	}
	got := []any{s.Events, s.State, s.ToolCalls, s.ToolResults, s.ToolErrors, s.Unanswered, s.Errors}
	if diff := gocmp.Diff([]any{12, ledger.RunOpen, 2, 0, 0, 2, 1}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// No form of a payload hides a denial or a success.
//
//guarantee:one-reading
func TestReader_SummaryOfForms(t *testing.T) {
	for _, form := range ledgertest.Denials() {
		if s := summaryOf(t, form); s.ToolCalls != 1 || s.ToolDenied != 1 {
			t.Errorf("%s: %d calls, %d denied", form.Data, s.ToolCalls, s.ToolDenied)
		}
	}
	for _, form := range ledgertest.Successes() {
		if s := summaryOf(t, form); s.ToolResults != 1 || s.ToolErrors != 0 {
			t.Errorf("%s: %d results, %d errors", form.Data, s.ToolResults, s.ToolErrors)
		}
	}
}

// The summary agrees with the trace about the end of a run, see package runtree.
func TestReader_SummaryOfEnds(t *testing.T) {
	end := func(id string, at int64, status events.RunStatus, reason string) events.Event {
		return named(t, id, at, events.RunFinished, events.RunFinishedData{RunStatus: status, Reason: reason})
	}
	call := named(t, "call", 7, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"})
	pause, pause2 := end("a", 5, events.RunUnknown, events.ReasonIdle), end("c", 7, events.RunUnknown, events.ReasonEndOfLog)
	for want, list := range map[ledger.RunState][][]events.Event{
		ledger.RunFailed:    {{end("a", 5, events.RunFailed, ""), end("b", 5, events.RunCompleted, "")}},
		ledger.RunCompleted: {{end("a", 4, events.RunFailed, ""), end("b", 5, events.RunCompleted, ""), pause2}},
		ledger.RunOpen:      {{pause, call}},
		ledger.RunUnknown:   {{pause}, {pause, call, pause2}},
	} {
		for _, l := range list {
			for range 2 {
				f := ledgertest.NewFeed("acme")
				for _, e := range l {
					f.Now = e.Time.Add(-time.Millisecond) // Publish adds one
					f.Publish("p", e)
				}
				f.Now = ledgertest.Began.Add(time.Minute)
				f.Manifest("p")
				s, err := readerOf(t, f).Summary(t.Context(), "r9")
				if err != nil || s.State != want || (s.Finished == nil) != (want == ledger.RunOpen) {
					t.Errorf("got %s, %v, want %s", s.State, err, want)
				}
				slices.Reverse(l)
			}
		}
	}
}

func named(t *testing.T, id string, at int64, kind events.Kind, payload any) events.Event {
	t.Helper()
	e, err := events.New(kind, "/test", payload)
	if err != nil {
		t.Fatal(err)
	}
	e.ID, e.Run, e.Subject, e.Time = events.DeriveID(id), "r9", "r9", ledgertest.Began.Add(time.Duration(at)*time.Second)
	return e
}

func summaryOf(t *testing.T, form ledgertest.Form) ledger.RunSummary {
	t.Helper()
	f := ledgertest.NewFeed("acme")
	f.Open("p", time.Hour)
	f.Publish("p", form.Event("c"))
	f.Manifest("p")
	s, err := readerOf(t, f).Summary(t.Context(), "r9")
	if err != nil {
		t.Errorf("%s: %v", form.Data, err)
	}
	return s
}

func readerOf(t *testing.T, f *ledgertest.Feed) *ledger.Reader {
	t.Helper()
	r, err := ledger.OpenReader(ledgertest.Write(t, t.TempDir(), ledgertest.NewKey(t), f, 100))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// One client's cost does not break `run list --json` and `run show --json` of the tenant.
func TestSummary_CostIsJSON(t *testing.T) {
	f := ledgertest.NewFeed("acme")
	f.Open("p", time.Hour)
	for _, id := range []string{"a", "b"} {
		f.Publish("p", ledgertest.Form{Kind: events.ResponseCompleted, Data: `{"message_id":"` + id + `","cost":{"usd":1.7e308}}`}.Event(id))
	}
	f.Manifest("p")
	s, err := readerOf(t, f).Summary(t.Context(), "r9")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(s); err != nil {
		t.Error(err)
	}
}

// A later end without a cost, such as that of a hook, does not remove the cost that an import told.
// run show keeps it.
func TestSummary_CostStays(t *testing.T) {
	f := ledgertest.NewFeed("acme")
	f.Open("p", time.Hour)
	f.Publish("p", ledgertest.Form{Kind: events.RunFinished, Data: `{"success":true,"cost":{"usd":2}}`}.Event(""))
	f.Publish("p", ledgertest.Form{Kind: events.RunFinished, Data: `{"success":true}`}.Event(""))
	f.Manifest("p")
	s, err := readerOf(t, f).Summary(t.Context(), "r9")
	if err != nil {
		t.Fatal(err)
	}
	if s.Cost == nil || s.Cost.USD != 2 {
		t.Errorf("cost %+v, want 2", s.Cost)
	}
}
