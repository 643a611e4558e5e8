package hooktrail

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A client chooses the texts of the statuses, so none of them may control the terminal or look like
// a word of ours.
//
//guarantee:one-reading
//guarantee:text-hostile
func TestRunShow_InventedStatuses(t *testing.T) {
	for _, status := range []string{"\x1b[2J\u202eX", "a\nFOREIGN", "completed ", "completed, sealed", "open"} {
		fold := runtree.Fold{Tenant: "acme"}
		var last events.RunFinishedData
		for id, one := range map[string]struct {
			kind events.Kind
			data any
		}{
			"step": {events.StepFinished, events.StepFinishedData{StepStatus: events.StepStatus(status)}},
			"run":  {events.RunFinished, events.RunFinishedData{RunStatus: events.RunStatus(status)}},
		} {
			e, err := events.New(one.kind, "/x", one.data)
			if err != nil {
				t.Fatal(err)
			}
			e.ID, e.Run, e.Time = id, "r1", time.Unix(1, 0)
			fold.Add(e)
			if one.kind == events.RunFinished {
				if last, err = events.Payload[events.RunFinishedData](e); err != nil {
					t.Fatal(err)
				}
			}
		}
		var show, list bytes.Buffer
		waterfall(&show, fold.Trace("r1"), cli.Palette{})
		writeRuns(&list, ledger.RunList{Runs: []ledger.RunSummary{{Run: "r1", State: ledger.RunState(last.Status())}}}, 0, nil)
		for name, text := range map[string]string{"run show": show.String(), "run list": list.String()} {
			for _, bad := range []string{"\x1b", "\u202e", "FOREIGN", "completed", "sealed", "open"} {
				if strings.Contains(text, bad) || !strings.Contains(text, "unknown") {
					t.Errorf("%s with %q:\n%s", name, status, text)
				}
			}
		}
	}
}
