package hooktrail

import (
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// forge adds an event in the name of p with the number of its next event.
func forge(t *testing.T, f *ledgertest.Feed, number uint64, change func(*events.Event)) {
	t.Helper()
	e, err := events.New(events.ToolResult, "/test", events.ToolResultData{Tool: "Bash", Status: events.ToolSuccess})
	if err != nil {
		t.Fatal(err)
	}
	e.ID, e.Run, e.Subject, e.ToolCall, e.Salt = "forged", "r1", "r1", "call-1", "c2FsdHNhbHRzYWx0c2FsdA"
	e.Tenant, e.Producer, e.Sequence, e.Time = "acme", "p", number, f.Now
	change(&e)
	f.Add(subjects.Address{Tenant: "acme", Producer: e.Producer, Run: e.Run, Kind: e.Kind()}, e.Encode())
}

func began() *ledgertest.Feed {
	f := ledgertest.NewFeed("acme")
	f.Sign("p")
	f.Event("p", "r1", events.RunStarted, events.RunStartedData{})
	f.Event("p", "r1", events.ToolBefore, events.ToolBeforeData{Tool: "Bash"})
	return f
}

//guarantee:verify-foreign
//guarantee:id-taken
func TestRunShow_MarksForeignRecords(t *testing.T) {
	failed := events.ToolResultData{Tool: "Bash", Status: events.ToolError}
	for name, tt := range map[string]struct {
		make   func(*ledgertest.Feed)
		status int
		want   string
	}{
		"NumberTakenFirst": {func(f *ledgertest.Feed) {
			forge(t, f, 3, func(*events.Event) {})
			f.Event("p", "r1", events.ToolResult, failed)
		}, verifier.ExitContradicts, "FOREIGN leaf 2, tool.result, event forged: the producer signed other content under this number"},
		"NumberTakenLater": {func(f *ledgertest.Feed) {
			f.Event("p", "r1", events.ToolResult, failed)
			forge(t, f, 3, func(*events.Event) {})
		}, verifier.ExitContradicts, "CONTRADICTED leaf 2, tool.result, event"},
		"NumberAhead": {func(f *ledgertest.Feed) {
			forge(t, f, 99, func(*events.Event) {})
		}, verifier.ExitIncomplete, "FOREIGN leaf 2, tool.result, event forged: no manifest of the producer lists it"},
		"IDTaken": {func(f *ledgertest.Feed) {
			id := f.Event("p", "r1", events.ToolResult, failed).ID
			forge(t, f, 1, func(e *events.Event) { e.ID, e.Producer = id, "q" })
		}, verifier.ExitContradicts, "CONTRADICTED leaf 2, tool.result, event"},
	} {
		t.Run(name, func(t *testing.T) {
			f := began()
			tt.make(f)
			f.Manifest("p")
			status, out, errs := runShow(t, ledgerOf(t, f))
			if status != tt.status || !strings.Contains(out, tt.want) || !strings.Contains(out, "    ! Bash") || errs == "" {
				t.Errorf("status %d, said %q:\n%s", status, errs, out)
			}
			if strings.Contains(out, "✓ Bash") {
				t.Errorf("the forged result shows as success:\n%s", out)
			}
		})
	}
	if status, out, errs := runShow(t, ledgerOf(t, began())); status != 0 || strings.Contains(out, "FOREIGN") {
		t.Errorf("an event in flight: status %d, said %q:\n%s", status, errs, out)
	}
}
