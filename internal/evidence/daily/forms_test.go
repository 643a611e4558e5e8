package daily

import (
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// The signed report counts a denial in each form of its payload.
//
//guarantee:one-reading
func TestOf_FormsOfDenials(t *testing.T) {
	f, key := ledgertest.NewFeed("acme"), ledgertest.NewKey(t)
	f.Open("p", time.Hour)
	for _, form := range ledgertest.Denials() {
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
	if err != nil || rep.Facts == nil || rep.Facts.DeniedCount != int64(len(ledgertest.Denials())) {
		t.Errorf("%+v, %v", rep.Facts, err)
	}
}
