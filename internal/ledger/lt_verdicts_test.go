package ledger

import (
	"slices"
	"testing"
	"time"
)

// verify verifies the ledger at path, which key signed.
func verify(tb testing.TB, path string, key *Key, opts VerifyOptions) Report {
	tb.Helper()
	opts.Key = verifierOf(key)
	r, err := Verify(tb.Context(), path, opts)
	if err != nil {
		tb.Fatalf("verify: %v", err)
	}
	return r
}

// wantVerdicts compares the two verdicts.
func wantVerdicts(tb testing.TB, r Report, integrity Integrity, completeness Completeness) {
	tb.Helper()
	if r.Integrity != integrity || r.Completeness != completeness {
		tb.Errorf("got %s and %s, want %s and %s\nproblems: %q\ngaps: %+v\nopen %q, unsealed %q, producers %+v",
			r.Integrity, r.Completeness, integrity, completeness, r.Problems, r.Gaps, r.Open, r.Unsealed, r.Producers)
	}
}

// wantInvalid holds that a ledger is found out.
func wantInvalid(tb testing.TB, path string, key *Key, what string) {
	tb.Helper()
	if r := verify(tb, path, key, VerifyOptions{Tenant: "acme"}); r.Integrity != Invalid || r.Exit != ExitInvalid || len(r.Problems) == 0 {
		tb.Errorf("%s: got %s, exit %d, want %s", what, r.Integrity, r.Exit, Invalid)
	}
}

// ratios measures pairs of runs, the limit first, and returns the median of how
// fast the second was compared with the first, and the spread.
func ratios(b *testing.B, limit, ours func() time.Duration) {
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
