package writer_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
)

func TestSet_Each(t *testing.T) {
	key, dir := ledgertest.NewKey(t), t.TempDir()
	feeds := make(map[string]*ledgertest.Feed)
	var tenants []string
	for i := range 20 {
		tenant := fmt.Sprintf("tenant-%02d", i)
		feeds[tenant], tenants = ledgertest.NewFeed(tenant), append(tenants, tenant)
	}
	s := writer.OpenSet(dir, writer.Options{Key: key})
	s.SetLimit(4)
	for range 3 {
		for _, f := range feeds {
			f.Run("coder", fmt.Sprintf("r%d", len(f.Messages)), 2)
		}
		var mu sync.Mutex // guards seen
		seen := make(map[string]bool)
		s.Each(t.Context(), tenants, func(tenant string, l *writer.Ledger, err error) bool {
			if err == nil {
				_, err = l.Append(t.Context(), ledgertest.Stream, feeds[tenant].Messages)
			}
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if seen[tenant] {
				t.Errorf("tenant %s was called twice", tenant)
			}
			seen[tenant] = true
			return false
		})
		if recent, open, acquired := s.Counts(); len(seen) != len(tenants) || recent > 4 || acquired != 0 || open != recent {
			t.Fatalf("%d called, %d open, %d acquired", len(seen), recent, acquired)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tenant := range tenants {
		path, err := ledger.Path(dir, tenant)
		if err != nil {
			t.Fatal(err)
		}
		ledgertest.WantVerdicts(t, ledgertest.Verify(t, path, key, verifier.Options{Tenant: tenant}), verifier.Verified, verifier.Complete)
		if want := ledgertest.Newest(t, ledgertest.Write(t, t.TempDir(), key, feeds[tenant], 1000)); ledgertest.Newest(t, path).Root != want.Root {
			t.Errorf("tenant %s: another root", tenant)
		}
	}
}

//guarantee:slow-ledger
func TestSet_EachWithABlockedLedger(t *testing.T) {
	s := writer.OpenSet(t.TempDir(), writer.Options{Key: ledgertest.NewKey(t)})
	tenants, others := []string{"waits"}, make(chan struct{})
	for i := range 3 * writer.MaxParallel {
		tenants = append(tenants, fmt.Sprintf("tenant-%02d", i))
	}
	var left atomic.Int64
	left.Store(int64(len(tenants) - 1))
	s.Each(t.Context(), tenants, func(tenant string, l *writer.Ledger, err error) bool {
		if err != nil {
			t.Error(err)
			return false
		}
		if tenant == "waits" {
			<-others // blocks forever if this tenant delays the others
			return false
		}
		f := ledgertest.NewFeed(tenant)
		f.Run("coder", "r1", 1)
		if _, err := l.Append(t.Context(), ledgertest.Stream, f.Messages); err != nil {
			t.Error(err)
		}
		if left.Add(-1) == 0 {
			close(others)
		}
		return false
	})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestSet_EachWithADamagedLedger(t *testing.T) {
	key, dir := ledgertest.NewKey(t), t.TempDir()
	path, err := ledger.Path(dir, "b")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("this is no database at all"), 0o600)); err != nil {
		t.Fatal(err)
	}
	s := writer.OpenSet(dir, writer.Options{Key: key})
	var mu sync.Mutex // guards failed
	failed := make(map[string]error)
	s.Each(t.Context(), []string{"a", "b", "c"}, func(tenant string, _ *writer.Ledger, err error) bool {
		mu.Lock()
		defer mu.Unlock()
		failed[tenant] = err
		return false
	})
	_, _, acquired := s.Counts()
	if failed["a"] != nil || !errors.Is(failed["b"], ledger.ErrDamaged) || failed["c"] != nil || acquired != 0 {
		t.Errorf("got %v, %d acquired", failed, acquired)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
