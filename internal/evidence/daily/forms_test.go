package daily

import (
	"slices"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A call counts once, whether our hooks denied it, the agent reports the refusal, or both.
func TestOf_Refusals(t *testing.T) {
	refused := `{"tool":"Bash","status":"denied","denied_by":"user"}`
	for name, tt := range map[string]struct {
		payloads []ledgertest.Form
		by       []events.DeniedBy
	}{
		"By a person":         {[]ledgertest.Form{{Kind: events.ToolResult, Data: refused}}, []events.DeniedBy{events.DeniedByUser}},
		"Twice":               {[]ledgertest.Form{{Kind: events.ToolResult, Data: refused}, {Kind: events.ToolResult, Data: `{"status":"denied"}`}}, []events.DeniedBy{events.DeniedByUser}},
		"Before our denial":   {[]ledgertest.Form{{Kind: events.ToolResult, Data: refused}, {Kind: events.ToolBefore, Data: `{"tool":"Bash","verdict":"deny"}`}}, []events.DeniedBy{""}},
		"Without any refusal": {[]ledgertest.Form{{Kind: events.ToolResult, Data: `{"tool":"Bash","status":"error"}`}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			facts := factsOfForms(t, tt.payloads)
			var by []events.DeniedBy
			for _, d := range facts.Denied {
				by = append(by, d.By)
			}
			if facts.DeniedCount != int64(len(tt.by)) || !slices.Equal(by, tt.by) {
				t.Errorf("got %d denied calls, by %q, want %q", facts.DeniedCount, by, tt.by)
			}
		})
	}
}

// The signed report counts a denial in each form of its payload.
//
//guarantee:one-reading
func TestOf_FormsOfDenials(t *testing.T) {
	if n := factsOfForms(t, ledgertest.Denials()).DeniedCount; n != int64(len(ledgertest.Denials())) {
		t.Errorf("got %d denials", n)
	}
}

// factsOfForms returns the facts about a ledger in which all payloads are about one call.
func factsOfForms(t *testing.T, forms []ledgertest.Form) *Facts {
	t.Helper()
	f, key := ledgertest.NewFeed("acme"), ledgertest.NewKey(t)
	f.Open("p", time.Hour)
	for _, form := range forms {
		f.Publish("p", form.Event("c"))
	}
	f.Manifest("p")
	path := ledgertest.Write(t, t.TempDir(), key, f, 100)
	v := ledgertest.Verify(t, path, key, verifier.Options{
		Tenant: "acme", From: ledgertest.Began.Add(-time.Hour), To: ledgertest.Began.Add(time.Hour),
	})
	r, err := ledger.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	rep, err := Of(t.Context(), r, v, time.Hour)
	if err != nil || rep.Facts == nil {
		t.Fatalf("%+v, %v", rep, err)
	}
	return rep.Facts
}

// The report says how many ends of runs it could not read. Erased ones have no status either.
func TestOf_FinishedNotCounted(t *testing.T) {
	finished := factsOfForms(t, []ledgertest.Form{
		{Kind: events.RunFinished, Data: `{"success":true}`}, {Kind: events.RunFinished, Data: `{"success":"yes"}`}, {Kind: events.RunFinished, Data: `[]`},
	}).Finished
	if finished != (Finished{Succeeded: 1, NotCounted: 2}) {
		t.Errorf("got %+v", finished)
	}
}
