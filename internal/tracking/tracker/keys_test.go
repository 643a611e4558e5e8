package tracker

import (
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker/trackertest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func change(tb testing.TB, dataDir string) (*writer.Key, events.Event) {
	tb.Helper()
	dir := filepath.Join(dataDir, "keys")
	r := writer.Rotation{Dir: dir, Tenants: []string{"acme"}, Order: ledger.Order{Time: rulestest.StoryBegins, By: "jdoe", Reason: "every year"}}
	if _, err := writer.Rotate(r); err != nil {
		tb.Fatal(err)
	}
	signed, err := ledger.ReadKeyOrders(dir, "acme")
	if err != nil {
		tb.Fatal(err)
	}
	e, err := events.New(events.AuditAccessed, "/auditor", events.AuditAccessedData{
		Action: events.AuditKey, By: "jdoe", Order: signed[len(signed)-1],
	})
	if err != nil {
		tb.Fatal(err)
	}
	e.Tenant = "acme"
	return openKey(tb, dataDir), e
}

// Orders of a key count only while the key is valid, whichever key the tracker was given.
//
//guarantee:rotate
func TestErase_KeyChanged(t *testing.T) {
	for _, given := range []string{"Old", "New", "DataDir"} {
		t.Run(given, func(t *testing.T) {
			p := newPipeline(t)
			keys := p.DataDir
			if given != "DataDir" {
				keys = t.TempDir()
			}
			old := openKey(t, keys)
			text := map[string]string{"r1": marker + "-1", "r2": marker + "-2", "r3": marker + "-3"}
			for run, text := range text {
				p.Publish("engine-"+run, quoted(t, run, "mmuster", text)...)
			}
			erase := func(run string) ledger.Order {
				return ledger.Order{Action: events.AuditErase, ID: "erase-" + run, Selection: ledger.OrderSelection{Run: run}}
			}
			first := orderEvent(t, old, erase("r1"))
			key, changed := change(t, keys)
			p.Publish("auditor", first, changed, orderEvent(t, old, erase("r3")), orderEvent(t, key, erase("r2")))
			p.mustDrain(func(o *Options) {
				switch given {
				case "Old":
					o.OrderKey = old.Public()
				case "New":
					o.OrderKey = key.Public()
				}
			})
			for run, text := range text {
				if n := len(trackertest.FilesWith(t, p.DataDir, text)); (n > 0) != (run == "r3") {
					t.Errorf("%s is in %d files", run, n)
				}
			}
		})
	}
}
