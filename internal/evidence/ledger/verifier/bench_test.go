package verifier_test

import (
	"crypto/sha256"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// BenchmarkVerify compares a verification with hashing the same data in memory.
func BenchmarkVerify(b *testing.B) {
	f, key := ledgertest.BenchFeed(100_000), ledgertest.NewKey(b)
	path := ledgertest.Write(b, b.TempDir(), key, f, 1000)
	all := ledgertest.Leaves(b, path)
	encoded := make([][]byte, len(all))
	for i, e := range all {
		encoded[i] = ledger.Leaf{
			Class: e.Class, ID: e.ID, Producer: e.Producer, Sequence: e.Sequence, Run: e.Run, Kind: e.Kind, Hash: e.Hash, Time: f.Now,
		}.Encode()
	}
	b.Logf("%d leaves, file %s", len(all), filepath.Base(path))
	limit := func() time.Duration {
		start := time.Now()
		var edge memoryTree
		for i, e := range all {
			if sha256.Sum256(e.Bytes) != e.Hash {
				b.Fatal("hash")
			}
			if _, err := edge.append(encoded[i]); err != nil {
				b.Fatal(err)
			}
		}
		if r, err := edge.root(); err != nil || r == (tlog.Hash{}) {
			b.Fatal("root")
		}
		return time.Since(start)
	}
	ours := func() time.Duration {
		start := time.Now()
		r := ledgertest.Verify(b, path, key, verifier.Options{})
		took := time.Since(start)
		if r.Exit != 0 || r.Leaves != int64(len(all)) {
			b.Fatalf("got %+v", r)
		}
		return took
	}
	ledgertest.Ratios(b, limit, ours)
}

type memoryTree struct {
	size int64
	edge [64]tlog.Hash
}

func (t *memoryTree) append(leaf []byte) ([]tlog.Hash, error) {
	hashes, err := tlog.StoredHashes(t.size, leaf, tlog.HashReaderFunc(t.read))
	copy(t.edge[:], hashes)
	t.size++
	return hashes, err
}

func (t *memoryTree) root() (tlog.Hash, error) {
	return tlog.TreeHash(t.size, tlog.HashReaderFunc(t.read))
}

func (t *memoryTree) read(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		level, _ := tlog.SplitStoredHashIndex(index)
		hashes[i] = t.edge[level]
	}
	return hashes, nil
}

// BenchmarkVerifySigned compares signed manifests with unsigned ones. The goal is a ratio of
// 0.95.
func BenchmarkVerifySigned(b *testing.B) {
	key := ledgertest.NewKey(b)
	path := func(f *ledgertest.Feed) string { return ledgertest.Write(b, b.TempDir(), key, f, 1000) }
	unsigned, signed := path(ledgertest.BenchFeed(100_000)), path(ledgertest.SignedBenchFeed(100_000))
	verify := func(path string) func() time.Duration {
		return func() time.Duration {
			start := time.Now()
			r := ledgertest.Verify(b, path, key, verifier.Options{})
			took := time.Since(start)
			if r.Exit != 0 {
				b.Fatalf("got %+v", r)
			}
			return took
		}
	}
	ledgertest.Ratios(b, verify(unsigned), verify(signed))
}
