package anchor

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

type ledgers struct {
	dir    string
	key    note.Verifier
	public string // verifier key
}

func newLedgers(tb testing.TB, tenants ...string) ledgers {
	tb.Helper()
	dir := tb.TempDir()
	key, err := writer.OpenKey(filepath.Join(dir, "keys"))
	if err != nil {
		tb.Fatal(err)
	}
	verifier, _, err := ledger.ParseVerifier(key.Public())
	if err != nil {
		tb.Fatal(err)
	}
	set := writer.OpenSet(dir, writer.Options{Key: key})
	for i, tenant := range tenants {
		l, err := set.Ledger(tb.Context(), tenant)
		if err != nil {
			tb.Fatal(err)
		}
		_, err = l.Append(tb.Context(), ledger.Stream{Epoch: 1, Created: time.Unix(1, 0)}, []ledger.Message{{
			Sequence: uint64(i + 1), Stored: time.Unix(2, 0), Data: []byte("{}"), // a quarantined leaf
			Address: subjects.Address{Tenant: tenant, Producer: "p", Run: "r", Kind: "custom"},
		}})
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := set.Close(); err != nil {
		tb.Fatal(err)
	}
	return ledgers{dir, verifier, key.Public()}
}

func (l ledgers) anchor(s storage) *storageAnchor {
	return newStorageAnchor(Options{LedgerDir: l.dir, Keys: note.VerifierList(l.key)}.withDefaults(), s)
}

func (l ledgers) newest(tb testing.TB, tenant string) string {
	tb.Helper()
	r, err := ledger.OpenTenant(l.dir, tenant)
	if err != nil {
		tb.Fatal(err)
	}
	signed, _, err := r.Signed(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	if err := r.Close(); err != nil {
		tb.Fatal(err)
	}
	return string(signed)
}

// A failed upload is reported and retried.
//
//guarantee:anchor-fails
func TestStorageAnchor_FileCannotBeWritten(t *testing.T) {
	l := newLedgers(t, "acme")
	folder := filepath.Join(t.TempDir(), "gone")
	file := filepath.Join(folder, "checkpoint")
	k := l.anchor(File(file))
	k.uploads.changed("acme")
	k.uploads.round(t.Context())
	if err := k.uploads.failure(); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v, want an error that names %s", err, file)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	k.uploads.round(t.Context())
	if err := k.uploads.failure(); err != nil {
		t.Error(err)
	}
	if kept, err := os.ReadFile(file); err != nil || string(kept) != l.newest(t, "acme") {
		t.Errorf("got %q, %v", kept, err)
	}
}

// A pipe or a huge file in place of the checkpoint neither blocks the auditor nor fills its memory.
//
//guarantee:anchor-fails
func TestStorageAnchor_PlaceWithoutAnEnd(t *testing.T) {
	l := newLedgers(t, "acme")
	dir := t.TempDir()
	pipe, huge := filepath.Join(dir, "pipe"), filepath.Join(dir, "huge")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(huge, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, 1<<40); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{pipe, huge} {
		if err := l.anchor(File(file)).upload(t.Context(), "acme"); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("got %v, want an error that names %s", err, file)
		}
	}
}

//guarantee:anchor-fails
func TestStorageAnchor_ReplacesNothingOfOthers(t *testing.T) {
	l, stranger := newLedgers(t, "acme", "other"), newLedgers(t, "acme")
	for name, text := range map[string]string{
		"Text": "anything", "OtherTenant": l.newest(t, "other"), "OtherKey": stranger.newest(t, "acme"),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "checkpoint")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := l.anchor(File(file)).upload(t.Context(), "acme"); err == nil {
				t.Error("it was replaced")
			}
			if got, err := os.ReadFile(file); err != nil || string(got) != text {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

type counted struct {
	File
	stores int
}

func (c *counted) store(ctx context.Context, tenant string, signed []byte, revision uint64) error {
	c.stores++
	if err := c.File.store(ctx, tenant, signed, revision); err != nil {
		return err
	}
	return os.Remove(string(c.File)) // so that a checkpoint is always missing
}

func TestStorageAnchor_AtMostOncePerSecond(t *testing.T) {
	place := &counted{File: File(filepath.Join(t.TempDir(), "checkpoint"))}
	k := newLedgers(t, "acme").anchor(place)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			k.uploads.run(ctx)
		}()
		for range 1000 {
			k.uploads.changed("acme")
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
		<-done
	})
	if place.stores < 9 || place.stores > 11 {
		t.Errorf("got %d stores in 10 seconds, want one per second", place.stores)
	}
}
