package writer_test

import (
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// An order to prune, as a retention rule for all kinds gives it, does not end a loss.
//
//guarantee:producer-silent
func TestLedger_LossIsNotPruned(t *testing.T) {
	dir, key, f := t.TempDir(), ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	f.Open("auditor", time.Hour)
	f.Run("auditor", "r1", 1)
	f.Lose("auditor", "http-1f")
	path := ledgertest.Write(t, dir, key, f, 100)
	o := ledgertest.Resolved(t, path, ledger.Order{Action: events.AuditPrune, Selection: ledger.OrderSelection{Kind: "*", To: f.At()}})
	f.Order(t, key, o)
	f.Open("auditor/e1", time.Hour)
	f.Manifest("auditor/e1")
	r := ledgertest.Checked(t, ledgertest.Continued(t, dir, key, f, 100), key)
	if ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Unproven); r.Exit != verifier.ExitIncomplete || r.Redacted.Pruned == 0 {
		t.Errorf("exit %d, pruned %d", r.Exit, r.Redacted.Pruned)
	}
}
