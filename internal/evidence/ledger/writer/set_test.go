package writer_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
)

func TestSet_KeepsFewOpen(t *testing.T) {
	key, dir := ledgertest.NewKey(t), t.TempDir()
	s := writer.OpenSet(dir, writer.Options{Key: key})
	s.SetLimit(4)
	var want []string
	for round := range 2 {
		for i := range 20 {
			tenant := string(rune('a'+i)) + " ü.*>"
			l, err := s.Ledger(t.Context(), tenant)
			if err != nil {
				t.Fatal(err)
			}
			f := ledgertest.NewFeed(tenant)
			for range round + 1 {
				f.Run("p", "r", 1)
			}
			if _, err := l.Append(t.Context(), ledgertest.Stream, f.Messages); err != nil {
				t.Fatal(err)
			}
			if round == 0 {
				want = append(want, tenant)
			}
			if recent, open, _ := s.Counts(); recent > 4 || open > 4 {
				t.Fatalf("%d ledgers are open", recent)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := ledger.Tenants(dir)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("tenants, %v (-want +got):\n%s", err, diff)
	}
}
