package verifier_test

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

//guarantee:verify-empty
func TestVerify_EmptyLedger(t *testing.T) {
	key := ledgertest.NewKey(t)
	r := ledgertest.Verify(t, ledgertest.Write(t, t.TempDir(), key, ledgertest.NewFeed("acme"), 1), key, verifier.Options{Tenant: "acme"})
	ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Empty)
	if r.Exit != verifier.ExitIncomplete {
		t.Errorf("got exit status %d, want %d", r.Exit, verifier.ExitIncomplete)
	}
}

func TestReport_SetAsOf(t *testing.T) {
	waits := func(w verifier.Waiting) verifier.AsOf {
		return verifier.AsOf{Outboxes: []verifier.Waiting{w}}
	}
	for _, tt := range []struct {
		name   string
		asOf   verifier.AsOf
		before verifier.Report
		want   verifier.Completeness
		exit   int
	}{
		{"NotAsked", verifier.AsOf{}, verifier.Report{Completeness: verifier.Complete}, verifier.Complete, 0},
		{"NothingLater", verifier.AsOf{Later: &verifier.Later{Last: 9}}, verifier.Report{Completeness: verifier.Complete}, verifier.Complete, 0},
		{"LaterEvents", verifier.AsOf{Later: &verifier.Later{Events: 1}}, verifier.Report{Completeness: verifier.Complete}, verifier.Unproven, 11},
		{"NotCounted", verifier.AsOf{Later: &verifier.Later{AtLeast: true}}, verifier.Report{Completeness: verifier.Complete}, verifier.Unproven, 11},
		{"OtherStream", verifier.AsOf{OtherStream: true, Later: &verifier.Later{}}, verifier.Report{Completeness: verifier.Complete}, verifier.Unproven, 11},
		{"Gaps", verifier.AsOf{Later: &verifier.Later{Events: 1}}, verifier.Report{Completeness: verifier.Gaps, Exit: 11}, verifier.Gaps, 11},
		{"Empty", waits(verifier.Waiting{Events: 1}), verifier.Report{Completeness: verifier.Empty, Exit: 11}, verifier.Unproven, 11},
		{"Unwitnessed", waits(verifier.Waiting{Events: 1}), verifier.Report{Completeness: verifier.Complete, Exit: 10}, verifier.Unproven, 11},
		{"Diverged", waits(verifier.Waiting{Events: 1}), verifier.Report{Completeness: verifier.Complete, Exit: 30}, verifier.Unproven, 30},
		{"Lost", waits(verifier.Waiting{Lost: 1}), verifier.Report{Completeness: verifier.Complete}, verifier.Unproven, 11},
		{"Uses", waits(verifier.Waiting{Events: 1, Uses: true}), verifier.Report{Completeness: verifier.Complete}, verifier.Complete, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.before
			r.SetAsOf(tt.asOf)
			if r.Completeness != tt.want || r.Exit != tt.exit || r.AsOf == nil {
				t.Errorf("got %s and %d, want %s and %d", r.Completeness, r.Exit, tt.want, tt.exit)
			}
		})
	}
}
