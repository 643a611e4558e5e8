package ledger_test

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
)

func BenchmarkReader_After(b *testing.B) {
	f, key := ledgertest.BenchFeed(20_000), ledgertest.NewKey(b)
	r := openReader(b, ledgertest.Write(b, b.TempDir(), key, f, 1000))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n = 0
		for _, err := range r.After(b.Context(), -1) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/record")
}
