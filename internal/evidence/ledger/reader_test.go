package ledger_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func openReader(tb testing.TB, path string) *ledger.Reader {
	tb.Helper()
	r, err := ledger.OpenReader(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := r.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return r
}

func TestReader_LeavesNothingBehind(t *testing.T) {
	f, key := ledgertest.BigFeed(), ledgertest.NewKey(t)
	path := ledgertest.Write(t, t.TempDir(), key, f, 1000)
	ledgertest.Verify(t, path, key, verifier.Options{})
	ledgertest.Leaves(t, path)
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("got %v, %v, want the ledger alone", files, err)
	}
}

func TestReader_Run(t *testing.T) {
	f, key := ledgertest.GauntletFeed(), ledgertest.NewKey(t)
	r := openReader(t, ledgertest.Write(t, t.TempDir(), key, f, 1000))
	var got, want [][]byte
	for e, err := range r.Run(t.Context(), "r2") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Bytes)
	}
	for _, m := range f.Messages {
		if m.Address.Run == "r2" {
			want = append(want, m.Data)
		}
	}
	if !slices.EqualFunc(got, want, bytes.Equal) {
		t.Errorf("got %d events, want the %d of the run as they were", len(got), len(want))
	}
	runs, err := r.Runs(t.Context())
	if err != nil || len(runs) != 3 {
		t.Errorf("runs: got %+v, %v, want 3", runs, err)
	}
	if ok, err := r.Has(t.Context(), "no such run"); ok || err != nil {
		t.Errorf("has: got %v, %v", ok, err)
	}
}

//guarantee:event-large
func TestReader_Blob(t *testing.T) {
	f, key := ledgertest.NewFeed("acme"), ledgertest.NewKey(t)
	content := bytes.Repeat([]byte("0123456789abcdef"), 100_000)
	sum := events.HashOf(content).String()
	send := func(producer, run string) {
		parts := slices.Collect(slices.Chunk(content, events.BlobChunkBytes))
		for i, part := range parts {
			f.Event(producer, run, events.BlobChunk, events.BlobChunkData{
				SHA256: sum, Bytes: int64(len(content)), Index: i, Chunks: len(parts), Content: part,
			})
		}
		f.Manifest(producer)
	}
	send("a", "r1")
	send("b", "r2") // the same content in another run
	path := ledgertest.Write(t, t.TempDir(), key, f, 1000)
	ledgertest.WantVerdicts(t, ledgertest.Verify(t, path, key, verifier.Options{}), verifier.Verified, verifier.Complete)
	got, err := ledgertest.Blob(path, sum)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(content))
	}
	if _, err := ledgertest.Blob(path, events.HashOf([]byte("x")).String()); !errors.Is(err, ledgertest.ErrNoBlob) {
		t.Errorf("a blob that is not there: got %v", err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > int64(len(content))*5/4 {
		t.Errorf("the file has %d bytes for %d, sent twice", info.Size(), len(content))
	}
	for i, e := range ledgertest.Leaves(t, path) {
		if !bytes.Equal(e.Bytes, f.Messages[i].Data) {
			t.Errorf("leaf %d is not as it was sent", i)
		}
	}
}

func TestReader_WhileAWriterAppends(t *testing.T) {
	f, key, dir := ledgertest.BenchFeed(6000), ledgertest.NewKey(t), t.TempDir()
	l, err := writer.Open(t.Context(), dir, "acme", writer.Options{Key: key, Now: f.At})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(done)
		for batch := range slices.Chunk(f.Messages, 20) {
			if _, err := l.Append(t.Context(), ledgertest.Stream, batch); err != nil {
				t.Error(err)
			}
		}
	})
	r := openReader(t, l.Path())
	for n := 0; ; n++ {
		report := ledgertest.Verify(t, l.Path(), key, verifier.Options{})
		// The batch of a producer may be incomplete at this moment.
		if report.Integrity != verifier.Verified || len(report.Gaps) > 0 {
			t.Errorf("verdict beside a writer: %s, %q, %+v", report.Integrity, report.Problems, report.Gaps)
		}
		last := int64(-1)
		for e, err := range r.After(t.Context(), -1) {
			if err != nil || e.Leaf != last+1 {
				t.Fatalf("leaf %d behind leaf %d, %v", e.Leaf, last, err)
			}
			last = e.Leaf
		}
		select {
		case <-done:
			wg.Wait()
			t.Logf("%d verifications beside the writer", n)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			ledgertest.WantVerdicts(t, ledgertest.Verify(t, l.Path(), key, verifier.Options{}), verifier.Verified, verifier.Complete)
			return
		default:
		}
	}
}

func TestReader_FileGoesAway(t *testing.T) {
	key := ledgertest.NewKey(t)
	path := ledgertest.Write(t, t.TempDir(), key, ledgertest.BigFeed(), 50)
	other := ledgertest.NewFeed("other")
	other.Run("p", "r1", 3)
	foreign := ledgertest.Write(t, t.TempDir(), key, other, 50)
	r, err := ledger.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := r.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{
		func() error { return os.Rename(path, path+".kept") },
		func() error { return os.WriteFile(path, []byte("no database"), 0o600) },
		func() error { return os.Rename(foreign, path) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if c, err := r.Newest(t.Context()); err == nil {
				t.Errorf("got checkpoint %d of tenant %q", c.Number, c.Tenant)
			}
		}
	}
	if err := os.Rename(path+".kept", path); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Newest(t.Context()); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if err := r.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
