package bundle

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
)

// manyRecords exceed the memory limits of the tests.
var manyRecords = race.Size(12_000, 1_500)

func many(tb testing.TB) evidence {
	tb.Helper()
	f, random := newFeed(), rand.NewChaCha8([32]byte{5})
	texts, raw := make([]string, 500), make([]byte, 2<<10)
	for first := 0; first < manyRecords; first += len(texts) {
		for i := range texts {
			_, _ = random.Read(raw) // never fails
			texts[i] = hex.EncodeToString(raw)
		}
		f.run("coder/e4", fmt.Sprint("r", first), len(texts), texts...)
	}
	return f.write(tb)
}

type meter struct{ before, most uint64 }

func newMeter() *meter {
	m := &meter{}
	m.measure(0, 0)
	m.before = m.most
	return m
}

func (m *meter) measure(done, _ int64) {
	if done%2000 == 0 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		m.most = max(m.most, s.HeapAlloc)
	}
}

func (m *meter) check(tb testing.TB, bound uint64) {
	tb.Helper()
	grown := m.most - min(m.most, m.before)
	tb.Logf("%d MiB more than before", grown>>20)
	if grown > bound {
		tb.Errorf("memory grew by %d MiB over %d records of 4 KiB, want at most %d", grown>>20, manyRecords, bound>>20)
	}
}

// Writing and checking a bundle need less memory than its records.
//
//guarantee:bundle
func TestBundle_IsBoundedInMemory(t *testing.T) {
	e := many(t)
	m := newMeter()
	path := filepath.Join(t.TempDir(), "bundle.zip")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	err = WriteBundle(t.Context(), out, e.reader, Options{Key: e.public, Signer: e.signer, Progress: m.measure})
	if err = errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	r := check(t, path, CheckOptions{Key: e.key, Progress: m.measure})
	if r.Exit != verifier.ExitVerified || int(r.Leaves) < manyRecords {
		t.Fatalf("%+v", r)
	}
	m.check(t, 24<<20)
}

// Writing a table needs less memory than its records.
//
//guarantee:parquet
func TestTable_IsBoundedInMemory(t *testing.T) {
	e := many(t)
	for _, format := range []Format{JSONL, CSV} {
		t.Run(string(format), func(t *testing.T) {
			m := newMeter()
			if err := WriteTable(t.Context(), io.Discard, e.reader, format, Options{Progress: m.measure}); err != nil {
				t.Fatal(err)
			}
			m.check(t, 16<<20)
		})
	}
	// A Parquet writer keeps one compressed row group, and the previous group may not be collected
	// yet. Two groups are smaller than all records.
	t.Run(string(Parquet), func(t *testing.T) {
		m, table := newMeter(), newParquetTable(io.Discard)
		for range 2 {
			for entry, err := range e.reader.After(t.Context(), -1) {
				if err == nil {
					err = table.write(entry)
				}
				if err != nil {
					t.Fatal(err)
				}
				m.measure(entry.Leaf, 0)
			}
		}
		if err := table.end(); err != nil {
			t.Fatal(err)
		}
		m.check(t, 80<<20)
	})
}
