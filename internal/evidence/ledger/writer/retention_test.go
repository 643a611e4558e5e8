package writer_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

//guarantee:retention
func TestExpired(t *testing.T) {
	dir, key, f := t.TempDir(), ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	f.Run("coder/e4", "r-1", 2) // a start, two calls with results, an end, a seal, a manifest: leaves 0–7
	f.Secretive("coder/e4", "r-2", "jane", 3)
	f.Now = f.Now.Add(48 * time.Hour)
	f.Run("coder/e4", "r-3", 2)
	path := ledgertest.Write(t, dir, key, f, 100)
	f.Order(t, key, ledgertest.Resolved(t, path, ledger.Order{Action: events.AuditHold, Selection: ledger.OrderSelection{User: "jane"}}))
	ledgertest.Write(t, dir, key, f, 100)
	r, err := ledger.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rules := []ledger.RetentionRule{{Kind: "tool.result"}, {Kind: "tool.*", Age: time.Hour}, {Kind: "*", Age: 24 * time.Hour}}
	orders, err := r.Orders().Expired(t.Context(), rules, f.Now)
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
		f.Order(t, key, o)
	}
	ledgertest.Continued(t, dir, key, f, 100)
	report := ledgertest.Checked(t, path, key)
	if report.Integrity != verifier.Verified || report.Completeness == verifier.Gaps || report.Redacted.Pruned != 4 || report.Redacted.Erased != 0 {
		t.Errorf("%s, %s, redacted %+v: %v", report.Integrity, report.Completeness, report.Redacted, report.Problems)
	}
	if again, err := r.Orders().Expired(t.Context(), rules, f.Now); err != nil || len(again) > 0 {
		t.Errorf("once more: %v, %v, want nothing", again, err)
	}
}
