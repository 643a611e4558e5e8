package verifier_test

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

func TestVerify_TellsHowFarItIs(t *testing.T) {
	f, key := ledgertest.BenchFeed(9000), ledgertest.NewKey(t)
	path := ledgertest.Write(t, t.TempDir(), key, f, 1000)
	var told []int64
	ledgertest.Verify(t, path, key, verifier.Options{Progress: func(done, total int64) {
		if total != int64(len(f.Messages)) || done > total {
			t.Errorf("got %d of %d, want of %d", done, total, len(f.Messages))
		}
		told = append(told, done)
	}})
	if n := len(told); n < 3 || told[n-1] != int64(len(f.Messages)) {
		t.Errorf("got %d calls, the last one of %v", n, told)
	}
}
