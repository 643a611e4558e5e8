package outbox

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/atomicbatch"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/cursor"
)

func identityOf(tb testing.TB, dir string) (id identity) {
	tb.Helper()
	data, err := os.ReadFile(identityFile(dir))
	if err == nil {
		err = json.Unmarshal(data, &id)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

func TestSigner_Key(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	p := appendOnline(t, srv, opts, 0, 5)
	path := filepath.Join(opts.Dir, keyName)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("key file: %v, %v", info, err)
	}
	m, _ := lastOf(t, srv, srv.Connect(t), p.Stats().Producer)
	if !isSignedBy(m, identityOf(t, opts.Dir).Key) {
		t.Errorf("the key in outbox.json does not verify %+v", m)
	}
	changed := m
	changed.Count++
	if isSignedBy(changed, m.Key) {
		t.Error("the signature verifies another manifest")
	}

	// Without its key, the producer id cannot continue.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	again := appendOnline(t, srv, opts, 5, 10)
	if s := again.Stats(); s.Producer == p.Stats().Producer {
		t.Error("a producer id continued with another key")
	}
	if err := os.WriteFile(path, []byte("damaged\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), atomicbatch.Over(srv.Connect(t)), opts); err == nil {
		t.Error("a damaged key was accepted")
	}
	checkStream(t, srv).wantEvents(t, 0, 10)
}

func TestSigner_SharedOutbox(t *testing.T) {
	srv := natstest.Start(t)
	dir := filepath.Join(t.TempDir(), "shared")
	mustShare(t, dir, 0, 5)
	first, err := openSigner(Options{Dir: dir}, keyName)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, keyName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("key file: %v, %v", info, err)
	}
	if id := identityOf(t, dir); id.Key != first.public || id.Unsigned {
		t.Errorf("identity %+v, want key %s", id, first.public)
	}
	p := mustOpenShared(t, srv, dir)
	mustClose(t, p)
	if m, _ := lastOf(t, srv, srv.Connect(t), p.Stats().Producer); !isSignedBy(m, first.public) {
		t.Errorf("manifest %+v, want the signature of %s", m, first.public)
	}
	checkShared(t, srv, 5)
}

// An outbox of a version without keys gets a key and continues its chain.
func TestSigner_OlderOutbox(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	p := appendOnline(t, srv, opts, 0, 5)
	stranger := srv.Connect(t)
	m, _ := lastOf(t, srv, stranger, p.Stats().Producer)
	// The older version sent the same manifest without a signature.
	m.Version, m.Key, m.Sig = 1, "", ""
	chain, err := srv.Space().Chain("acme", m.Producer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Request(chain, m.Encode(), testTimeout); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(opts.Dir, keyName)); err != nil {
		t.Fatal(err)
	}
	c, err := cursor.Open(identity{Producer: m.Producer}.dir(opts.Dir))
	if err != nil {
		t.Fatal(err)
	}
	ch := c.Chain("acme")
	ch.Prev, ch.Signed = events.HashOf(m.Encode()).String(), false
	if err := errors.Join(c.Rewrite(), c.Close()); err != nil {
		t.Fatal(err)
	}
	id := identityOf(t, opts.Dir)
	id.Key = ""
	if err := id.save(opts.Dir); err != nil {
		t.Fatal(err)
	}
	p = appendOnline(t, srv, opts, 5, 10)
	if s := p.Stats(); s.Producer != m.Producer || s.Foreign != 0 {
		t.Errorf("stats %+v, want producer %s", s, m.Producer)
	}
	got, _ := lastOf(t, srv, stranger, m.Producer)
	if got.Last <= m.Last || !isSignedBy(got, identityOf(t, opts.Dir).Key) {
		t.Errorf("the chain continues with %+v", got)
	}
	wantArrived(t, srv, 0, 10)
}
