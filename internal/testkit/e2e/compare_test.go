package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/metrics"
)

func compare(t *testing.T, want, got string) {
	t.Helper()
	tenants, err := ledger.Tenants(filepath.Join(want, "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tenant := range tenants {
		a, b := newest(t, want, tenant), newest(t, got, tenant)
		if a.Size != b.Size || a.Root != b.Root || a.Arrivals != b.Arrivals || a.Digest != b.Digest {
			t.Errorf("ledger of %s: got %d leaves with root %v after %d arrivals (%v) in epoch %d, want %d with %v after %d (%v) in epoch %d", tenant,
				b.Size, b.Root, b.Arrivals, b.Digest, b.Position.Epoch, a.Size, a.Root, a.Arrivals, a.Digest, a.Position.Epoch)
		}
	}
	compareFiles(t, want, got, filepath.Join("beads", "*", ".beads", "issues.jsonl"))

	a, err := metrics.Snapshot(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	b, err := metrics.Snapshot(t.Context(), got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func newest(t *testing.T, dir, tenant string) ledger.Checkpoint {
	t.Helper()
	c, err := read(t, dir, tenant).Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func compareFiles(t *testing.T, want, got, pattern string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(want, pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Errorf("no file %s", pattern)
	}
	for _, file := range files {
		name, err := filepath.Rel(want, file)
		if err != nil {
			t.Fatal(err)
		}
		a, errA := os.ReadFile(file)
		b, errB := os.ReadFile(filepath.Join(got, name))
		if errA != nil || errB != nil {
			t.Errorf("%s: %v, %v", name, errA, errB)
			continue
		}
		if !slices.Equal(a, b) {
			t.Errorf("%s (-want +got):\n%s", name, cmp.Diff(string(a), string(b)))
		}
	}
}
