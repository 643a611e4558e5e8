package verifier_test

import (
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// A copy of an event under its own number is not other content.
func TestExportChecker_DoubledEvent(t *testing.T) {
	path := ledgertest.Write(t, t.TempDir(), ledgertest.NewKey(t), signed(), 1000)
	c := verifier.NewExportChecker(verifier.WholeLedger, "acme", ledger.Keys{}, ledger.Issuers{})
	add := func(e ledger.Entry, stream uint64) {
		k := verifier.ExportedRecord{Index: e.Leaf, Leaf: e.LeafOf(), Bytes: e.Bytes, Epoch: 1, Stream: stream, Stored: e.Stored}
		if err := c.Add(k); err != nil {
			t.Fatal(err)
		}
	}
	for i, e := range ledgertest.Leaves(t, path) {
		add(e, uint64(3*i+1))
		if i == 1 { // before a manifest lists it
			e.Class, e.Finding = ledger.ClassConflict, ledger.FindingSequenceReused
			add(e, uint64(3*i+2))
			add(e, uint64(3*i+3))
		}
	}
	r := verifier.NewReport(path)
	if err := c.Conclude(&r, ledgertest.Newest(t, path), time.Hour, nil, nil); err != nil {
		t.Fatal(err)
	}
	if !c.Foreign().IsEmpty() || len(r.Gaps) > 0 || r.ForeignCount > 0 || r.Contradictions != 2 {
		t.Errorf("got %s, gaps %+v, foreign %+v %+v, %d contradictions", r.Completeness, r.Gaps, r.Foreign, c.Foreign(), r.Contradictions)
	}
}
