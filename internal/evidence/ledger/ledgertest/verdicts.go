package ledgertest

import (
	"slices"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
)

// Verify verifies the ledger at path with the given key.
func Verify(tb testing.TB, path string, key *writer.Key, opts verifier.Options) verifier.Report {
	tb.Helper()
	opts.Key = VerifierOf(key)
	r, err := verifier.Verify(tb.Context(), path, opts)
	if err != nil {
		tb.Fatalf("verify: %v", err)
	}
	return r
}

// WantVerdicts fails the test if the report has other verdicts on integrity and completeness.
func WantVerdicts(tb testing.TB, r verifier.Report, integrity verifier.Integrity, completeness verifier.Completeness) {
	tb.Helper()
	if r.Integrity != integrity || r.Completeness != completeness {
		tb.Errorf("got %s and %s, want %s and %s\nproblems: %q\ngaps: %+v\nopen %q, unsealed %q, producers %+v",
			r.Integrity, r.Completeness, integrity, completeness, r.Problems, r.Gaps, r.Open, r.Unsealed, r.Producers)
	}
}

// WantInvalid fails the test unless verification finds the ledger INVALID. The error message begins
// with what.
func WantInvalid(tb testing.TB, path string, key *writer.Key, what string) {
	tb.Helper()
	if r := Verify(tb, path, key, verifier.Options{Tenant: "acme"}); r.Integrity != verifier.Invalid || r.Exit != verifier.ExitInvalid || len(r.Problems) == 0 {
		tb.Errorf("%s: got %s, exit %d, want %s", what, r.Integrity, r.Exit, verifier.Invalid)
	}
}

// Ratios runs both functions several times. It reports how many times faster ours is than limit, as
// the median and the range.
func Ratios(b *testing.B, limit, ours func() time.Duration) {
	b.Helper()
	var all []float64
	for b.Loop() {
		for range 7 {
			l := limit()
			all = append(all, float64(l)/float64(ours()))
		}
	}
	slices.Sort(all)
	b.ReportMetric(all[len(all)/2], "ratio")
	b.ReportMetric(all[0], "lowest")
	b.ReportMetric(all[len(all)-1], "highest")
	b.ReportMetric(0, "ns/op")
}
