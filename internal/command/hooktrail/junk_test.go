package hooktrail

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A stranger sends 101 unreadable messages, which alone are no alarm, and then claims the id of a
// record of a run, or a number of its producer. auditor verify lists only the first hundred.
//
//guarantee:verify-foreign
//guarantee:id-taken
func TestRunShow_MarksBehindJunk(t *testing.T) {
	failed := events.ToolResultData{Tool: "Bash", Status: events.ToolError}
	for name, tt := range map[string]struct {
		forge  func(*ledgertest.Feed)
		status int
	}{
		"IDTaken": {func(f *ledgertest.Feed) {
			id := f.Event("p", "r1", events.ToolResult, failed).ID
			forge(t, f, 1, func(e *events.Event) { e.ID, e.Producer = id, "q" })
		}, verifier.ExitContradicts},
		"NumberTakenLater": {func(f *ledgertest.Feed) {
			f.Event("p", "r1", events.ToolResult, failed)
			forge(t, f, 3, func(*events.Event) {})
		}, verifier.ExitContradicts},
	} {
		t.Run(name, func(t *testing.T) {
			f := began()
			for i := range 101 {
				f.Add(subjects.Address{Tenant: "acme", Producer: "junk", Kind: events.Custom}, fmt.Appendf(nil, "%d", i))
			}
			tt.forge(f)
			f.Manifest("p")
			if status, out, errs := runShow(t, ledgerOf(t, f)); status != tt.status {
				t.Errorf("status %d, want %d, said %q:\n%s", status, tt.status, errs, out)
			}
		})
	}
	t.Run("Foreign", func(t *testing.T) {
		f := began()
		f.Sign("junk")
		f.Event("junk", "", events.Custom, events.CustomData{Name: "x"})
		f.Manifest("junk")
		m := events.Manifest{Version: 1, Tenant: "acme", Producer: "junk", First: 2, Root: events.BatchRoot(nil).String()}
		for i := range 101 {
			m.Last = uint64(i + 2)
			m.Missing = []events.Range{{First: 2, Last: m.Last}}
			f.AddManifest(m)
		}
		forge(t, f, 99, func(*events.Event) {})
		f.Manifest("p")
		if status, out, errs := runShow(t, ledgerOf(t, f)); status != verifier.ExitIncomplete {
			t.Errorf("status %d, said %q:\n%s", status, errs, out)
		}
	})
}

// A stranger takes the number of a record before the producer sends it, and names another run. So
// the record of the producer is set apart, and its run has no row for it.
//
//guarantee:id-taken
func TestRunShow_RecordSetApart(t *testing.T) {
	f := began()
	f.Event("p", "r2", events.RunStarted, events.RunStartedData{})
	forge(t, f, 4, func(e *events.Event) { e.Run, e.Subject, e.ToolCall = "r2", "r2", "" })
	f.Event("p", "r1", events.ToolBefore, events.ToolBeforeData{Tool: "Bash", Outcome: events.Outcome{Verdict: events.VerdictDeny}})
	f.Manifest("p")
	status, out, errs := runShow(t, ledgerOf(t, f))
	want := "CONTRADICTED leaf 4, tool.before, event"
	if status != verifier.ExitContradicts || !strings.Contains(out, want) || !strings.Contains(out, "not shown, because leaf 3 of another run") {
		t.Errorf("status %d, said %q:\n%s", status, errs, out)
	}
}

// A flood of contradictions leaves some unmarked. That is no success.
//
//guarantee:verify-foreign
func TestRunShow_TooManyDoubts(t *testing.T) {
	var d doubts
	d.add(verifier.Report{Integrity: verifier.Verified, Doubts: &verifier.Doubts{Incomplete: true}})
	shown := runTrace{Trace: runtree.Trace{Run: "r1", Unchecked: d.unchecked}, incomplete: d.incomplete}
	var status *cli.StatusError
	if err := shown.failure(); !errors.As(err, &status) || status.Status != verifier.ExitIncomplete {
		t.Errorf("got %v, want status %d", err, verifier.ExitIncomplete)
	}
	var out strings.Builder
	shown.write(&out, cli.Palette{})
	if want := "not marked: foreign and contradicted records: the ledger has too many of them"; !strings.Contains(out.String(), want) {
		t.Errorf("got:\n%s", &out)
	}
}
