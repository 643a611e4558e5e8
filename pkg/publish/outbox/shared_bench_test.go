package outbox

import (
	"slices"
	"testing"
	"time"
)

// BenchmarkAppendShared measures the cost for a short-lived process, which opens the outbox for
// each call. Goal: 1 ms.
func BenchmarkAppendShared(b *testing.B) {
	dir := b.TempDir()
	opts := SharedOptions{Redactor: NoRedaction, Tenant: "acme"}
	var took []time.Duration
	for n := 0; b.Loop(); n++ {
		e := newEvent(n)
		start := time.Now()
		if _, err := AppendShared(b.Context(), dir, opts, e); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
