package ledger

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestExpired(t *testing.T) {
	dir, key, f := t.TempDir(), testKey(t), newFeed("acme")
	f.run("coder/e4", "r-1", 2) // a start, two calls with results, an end, a seal, a manifest: leaves 0–7
	f.secretive("coder/e4", "r-2", "jane", 3)
	f.now = f.now.Add(48 * time.Hour)
	f.run("coder/e4", "r-3", 2)
	path := write(t, dir, key, f, 100)
	f.order(t, key, resolved(t, path, Order{Action: events.AuditHold, Selection: OrderSelection{User: "jane"}}))
	write(t, dir, key, f, 100)
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rules := []Keep{{Kind: "tool.result"}, {Kind: "tool.*", Age: time.Hour}, {Kind: "*", Age: 24 * time.Hour}}
	orders, err := r.Expired(t.Context(), rules, f.now)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, o := range orders {
		got[o.Selection.Kind] = o.Leaves.String()
	}
	want := map[string]string{"tool.before": "1 3", "run.started": "0", "run.finished": "5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("expired (-want +got):\n%s", diff)
	}
	for _, o := range orders {
		f.order(t, key, o)
	}
	continued(t, dir, key, f, 100)
	report := checked(t, path, key)
	if report.Integrity != Verified || report.Completeness == Gaps || report.Redacted.Pruned != 4 || report.Redacted.Erased != 0 {
		t.Errorf("%s, %s, redacted %+v: %v", report.Integrity, report.Completeness, report.Redacted, report.Problems)
	}
	if again, err := r.Expired(t.Context(), rules, f.now); err != nil || len(again) > 0 {
		t.Errorf("once more: %v, %v, want nothing", again, err)
	}
}
