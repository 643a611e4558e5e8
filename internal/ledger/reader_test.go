package ledger

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func openReader(tb testing.TB, path string) *Reader {
	tb.Helper()
	r, err := OpenReader(path)
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
	f, key := bigFeed(), testKey(t)
	path := write(t, t.TempDir(), key, f, 1000)
	verify(t, path, key, VerifyOptions{})
	leaves(t, path)
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("got %v, %v, want the ledger alone", files, err)
	}
}

func TestReader_Run(t *testing.T) {
	f, key := gauntletFeed(), testKey(t)
	r := openReader(t, write(t, t.TempDir(), key, f, 1000))
	var got, want [][]byte
	for e, err := range r.Run(t.Context(), "r2") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Bytes)
	}
	for _, m := range f.messages {
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

func TestReader_Blob(t *testing.T) {
	f, key := newFeed("acme"), testKey(t)
	content := bytes.Repeat([]byte("0123456789abcdef"), 100_000)
	sum := events.HashOf(content).String()
	send := func(producer, run string) {
		parts := slices.Collect(slices.Chunk(content, events.BlobChunkBytes))
		for i, part := range parts {
			f.event(producer, run, events.BlobChunk, events.BlobChunkData{
				SHA256: sum, Bytes: int64(len(content)), Index: i, Chunks: len(parts), Content: part,
			})
		}
		f.manifest(producer)
	}
	send("a", "r1")
	send("b", "r2") // the same content, for another run
	path := write(t, t.TempDir(), key, f, 1000)
	wantVerdicts(t, verify(t, path, key, VerifyOptions{}), Verified, Complete)
	r := openReader(t, path)
	got, err := r.Blob(t.Context(), sum)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(content))
	}
	if _, err := r.Blob(t.Context(), events.HashOf([]byte("x")).String()); !errors.Is(err, ErrNoBlob) {
		t.Errorf("a blob that is not there: got %v", err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > int64(len(content))*5/4 {
		t.Errorf("the file has %d bytes for %d, sent twice", info.Size(), len(content))
	}
	for i, e := range leaves(t, path) {
		if !bytes.Equal(e.Bytes, f.messages[i].Data) {
			t.Errorf("leaf %d is not as it was sent", i)
		}
	}
}

// TestReader_BesideAWriter reads and verifies while a writer appends.
func TestReader_BesideAWriter(t *testing.T) {
	f, key, dir := benchFeed(6000), testKey(t), t.TempDir()
	l, err := Open(t.Context(), dir, "acme", Options{Key: key, Now: f.at})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(done)
		for batch := range slices.Chunk(f.messages, 20) {
			if _, err := l.Append(t.Context(), stream, batch); err != nil {
				t.Error(err)
			}
		}
	})
	r := openReader(t, l.path)
	for n := 0; ; n++ {
		report := verify(t, l.path, key, VerifyOptions{})
		// A batch of the producer may be there in part: that is no fault.
		if report.Integrity != Verified || len(report.Gaps) > 0 {
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
			wantVerdicts(t, verify(t, l.path, key, VerifyOptions{}), Verified, Complete)
			return
		default:
		}
	}
}

// TestReader_CopyWithItsLog reads a copy of a ledger that was in use, in a
// folder that cannot be written to.
func TestReader_CopyWithItsLog(t *testing.T) {
	f, key, dir := bigFeed(), testKey(t), t.TempDir()
	l, err := Open(t.Context(), dir, "acme", Options{Key: key, Now: f.at})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Append(t.Context(), stream, f.messages); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), FileName)
	for _, suffix := range []string{"", "-wal"} {
		if err := copyFile(to+suffix, l.path+suffix); err != nil {
			t.Fatal(err)
		}
	}
	c, err := openCopy(to)
	if err != nil {
		t.Fatal(err)
	}
	n, err := queryInt(c.conn, "SELECT count(*) FROM leaves")
	if err != nil || n != l.Newest().Size {
		t.Errorf("got %d leaves, %v, want %d", n, err, l.Newest().Size)
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.copy); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the copy is still there: %v", err)
	}
	wantVerdicts(t, verify(t, to, key, VerifyOptions{}), Verified, Complete)
}

func TestSet_KeepsFewOpen(t *testing.T) {
	key, dir := testKey(t), t.TempDir()
	s := OpenSet(dir, Options{Key: key})
	s.limit = 4
	var want []string
	for round := range 2 {
		for i := range 20 {
			tenant := string(rune('a'+i)) + " ü.*>"
			l, err := s.Ledger(t.Context(), tenant)
			if err != nil {
				t.Fatal(err)
			}
			f := newFeed(tenant)
			for range round + 1 {
				f.run("p", "r", 1)
			}
			if _, err := l.Append(t.Context(), stream, f.messages); err != nil {
				t.Fatal(err)
			}
			if round == 0 {
				want = append(want, tenant)
			}
			if s.recent.Len() > 4 || len(s.open) > 4 {
				t.Fatalf("%d ledgers are open", s.recent.Len())
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := Tenants(dir)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("tenants, %v (-want +got):\n%s", err, diff)
	}
}

func TestOpenKey_MadeOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	var keys [8]*Key
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			k, err := OpenKey(dir)
			if err != nil {
				t.Error(err)
			}
			keys[i] = k
		})
	}
	wg.Wait()
	made := 0
	for _, k := range keys {
		if k.Made() {
			made++
		}
		if k.Public() != keys[0].Public() {
			t.Errorf("got %s and %s", k.Public(), keys[0].Public())
		}
	}
	if made != 1 {
		t.Errorf("made %d times, want once", made)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("got %v, %v, want two files", files, err)
	}
	info, err := os.Stat(filepath.Join(dir, privateFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode: got %v, %v, want 0600", info.Mode(), err)
	}
	// The public half is written again from the private one.
	if err := os.WriteFile(filepath.Join(dir, publicFile), []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenKey(dir); err != nil {
		t.Fatal(err)
	}
	v, text, err := ReadVerifier(dir)
	if err != nil || text != keys[0].Public() || KeyID(v) != keys[0].ID() {
		t.Errorf("got %s, %v", text, err)
	}
}

// A ledger may be moved away, or another one put in its place, while it is read.
func TestReader_FileGoesAway(t *testing.T) {
	key := testKey(t)
	path := write(t, t.TempDir(), key, bigFeed(), 50)
	other := newFeed("other")
	other.run("p", "r1", 3)
	foreign := write(t, t.TempDir(), key, other, 50)
	r, err := OpenReader(path)
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
