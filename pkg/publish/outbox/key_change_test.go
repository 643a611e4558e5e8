package outbox

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nats-io/nkeys"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/atomicbatch"
)

func newIssuer(tb testing.TB) (path, public string) {
	tb.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		tb.Fatal(err)
	}
	seed, err := pair.Seed()
	if err != nil {
		tb.Fatal(err)
	}
	if public, err = pair.PublicKey(); err != nil {
		tb.Fatal(err)
	}
	path = filepath.Join(tb.TempDir(), "issuer.nk")
	if err := os.WriteFile(path, seed, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path, public
}

func isSignedGrant(g events.Grant) bool {
	raw, err := nkeys.Decode(nkeys.PrefixByteUser, []byte(g.Issuer))
	return err == nil && ed25519.Verify(raw, g.SignedText(), g.Signature())
}

func chainOf(tb testing.TB, srv *natstest.Server, producer string) (list []events.Manifest) {
	tb.Helper()
	for _, msg := range srv.Messages(tb) {
		if m, err := events.DecodeManifest(msg.Data); err == nil && m.Producer == producer {
			list = append(list, m)
		}
	}
	return list
}

// The first manifest of a chain has a grant, and so has the first one after a change of the issuer.
// An outbox without an issuer gets its grant later.
func TestIssuer_Grant(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	appendOnline(t, srv, opts, 0, 5)
	var want []string
	for i := range 2 {
		var public string
		opts.Issuer, public = newIssuer(t)
		want = append(want, public)
		appendOnline(t, srv, opts, 10*i+5, 10*i+10)
		appendOnline(t, srv, opts, 10*i+10, 10*i+15)
	}
	p := appendOnline(t, srv, opts, 25, 30)
	list := chainOf(t, srv, p.Stats().Producer)
	if list[0].Grant != nil {
		t.Error("a manifest without an issuer has a grant")
	}
	var got []string
	for _, m := range list {
		if m.Grant == nil {
			continue
		}
		if got = append(got, m.Grant.Issuer); !isSignedGrant(*m.Grant) || m.Grant.Fault(m, m.Grant.Issued) != "" {
			t.Errorf("grant %+v does not enrol %+v", *m.Grant, m)
		}
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("grants of issuers %v, want %v", got, want)
	}
	forged := *list[2].Grant // behind the first end
	forged.Producer = "b"
	if isSignedGrant(forged) {
		t.Error("a changed grant has a valid signature")
	}
	opts.Issuer = filepath.Join(t.TempDir(), "none")
	if _, err := Open(t.Context(), atomicbatch.Over(srv.Connect(t)), opts); err == nil {
		t.Error("an outbox opened without the file of its issuer")
	}
}

// After a new endorsement of the issuer, the next manifest has a grant with it. If the producer has
// ended, the next process that opens the outbox sends it.
//
//guarantee:enrolled
func TestIssuer_EndorsedLater(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	opts.Issuer, _ = newIssuer(t)
	want := []string{""}
	endorse := func(note string) {
		t.Helper()
		if err := os.WriteFile(opts.Issuer+EndorsedEnding, []byte(note), 0o600); err != nil {
			t.Fatal(err)
		}
		want = append(want, note)
	}
	producer := appendOnline(t, srv, opts, 0, 5).Stats().Producer
	wantGrants := func(when string) {
		t.Helper()
		var got []string
		for _, m := range chainOf(t, srv, producer) {
			if m.Grant != nil {
				got = append(got, m.Grant.Endorsed)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: endorsements %q, want %q", when, got, want)
		}
	}
	issuer, err := OpenIssuer(opts.Issuer)
	if err != nil {
		t.Fatal(err)
	}
	wantOwed := func(owed bool) {
		t.Helper()
		if s, err := Inspect(opts.Dir); err != nil || s.OwesGrant(issuer) != owed {
			t.Errorf("state %+v, %v: want an owed grant: %t", s, err, owed)
		}
	}
	wantGrants("without an endorsement")
	wantOwed(false)
	endorse("by the first key")
	wantOwed(true)
	for range 2 {
		mustClose(t, mustOpen(t, srv.Connect(t), opts))
		wantGrants("opened again")
		wantOwed(false)
	}
	endorse("by the second key")
	appendOnline(t, srv, opts, 5, 10)
	wantGrants("with the next events")
	list := chainOf(t, srv, producer)
	if last := list[len(list)-1]; last.State != events.StateClosed {
		t.Errorf("the last manifest is %+v", last)
	}
}

// wantNewKey checks that one manifest of the old key names the new key, and that only the new key
// signs later ones.
func wantNewKey(tb testing.TB, srv *natstest.Server, p *Publisher, dir, old string) {
	tb.Helper()
	key, changes := old, 0
	for _, m := range chainOf(tb, srv, p.Stats().Producer) {
		if !isSignedBy(m, key) {
			tb.Errorf("manifest %d to %d is not signed by %s", m.First, m.Last, key)
		}
		if m.Next != "" {
			key, changes = m.Next, changes+1
		}
	}
	id := identityOf(tb, dir)
	if changes != 1 || id.Key != key || id.OldKey != old || key == old {
		tb.Errorf("%d changes to %s, identity %+v", changes, key, id)
	}
	if s, err := openSigner(Options{Dir: dir}, keyName); err != nil || s.public != key {
		tb.Errorf("the outbox signs with %s, %v", s.public, err)
	}
	if _, err := os.Stat(filepath.Join(dir, nextKeyName)); err == nil {
		tb.Error("the next key is still there")
	}
	if s := p.Stats(); s.Foreign != 0 {
		tb.Errorf("stats %+v", s)
	}
}

//guarantee:producer-key
func TestPublisher_ChangeKey(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	p := mustOpen(t, srv.Connect(t), opts)
	appendMany(t, p, 0, 5)
	mustFlush(t, p)
	old := identityOf(t, opts.Dir).Key
	if err := p.ChangeKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	appendMany(t, p, 5, 10)
	mustClose(t, p)
	wantNewKey(t, srv, p, opts.Dir, old)
	again := appendOnline(t, srv, opts, 10, 15)
	if again.Stats().Producer != p.Stats().Producer {
		t.Error("the producer id changed with the key")
	}
	wantNewKey(t, srv, again, opts.Dir, old)
	checkStream(t, srv).wantEvents(t, 0, 15)
}

// The process is killed between the steps of a key change. The next process finishes it.
//
//guarantee:producer-key
func TestPublisher_ChangeKeyKilled(t *testing.T) {
	begin := func(t *testing.T, dir string) {
		t.Helper()
		if _, err := openSigner(Options{Dir: dir}, nextKeyName); err != nil {
			t.Fatal(err)
		}
	}
	finish := func(t *testing.T, srv *natstest.Server, opts Options) *Publisher {
		t.Helper()
		p := mustOpen(t, srv.Connect(t), opts)
		until(t, "the end of the change", func() bool {
			_, err := os.Stat(filepath.Join(opts.Dir, nextKeyName))
			return os.IsNotExist(err)
		})
		return p
	}
	for name, kill := range map[string]func(t *testing.T, srv *natstest.Server, opts *Options){
		"BeforeItWasSent": func(t *testing.T, _ *natstest.Server, opts *Options) {
			t.Helper()
			begin(t, opts.Dir)
		},
		"BeforeTheAnswer": func(t *testing.T, srv *natstest.Server, opts *Options) {
			t.Helper()
			begin(t, opts.Dir)
			before := copyDir(t, opts.Dir)
			mustClose(t, finish(t, srv, *opts))
			opts.Dir = before
		},
		"BeforeTheKeyFile": func(t *testing.T, srv *natstest.Server, opts *Options) {
			t.Helper()
			begin(t, opts.Dir)
			before := copyDir(t, opts.Dir)
			mustClose(t, finish(t, srv, *opts))
			for _, name := range []string{keyName, nextKeyName} {
				if err := os.Rename(filepath.Join(before, name), filepath.Join(opts.Dir, name)); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := natstest.Start(t)
			opts := testOptions(t, t.TempDir())
			appendOnline(t, srv, opts, 0, 5)
			old := identityOf(t, opts.Dir).Key
			kill(t, srv, &opts)
			p := finish(t, srv, opts)
			appendMany(t, p, 5, 10)
			mustClose(t, p)
			wantNewKey(t, srv, p, opts.Dir, old)
			checkStream(t, srv).wantEvents(t, 0, 10)
		})
	}
}

// A stranger announces a next key after the last manifest. The producer ignores it.
//
//guarantee:producer-key
func TestForeign_KeyChange(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	p := mustOpen(t, srv.Connect(t), opts)
	appendMany(t, p, 0, 5)
	mustFlush(t, p)
	m, prev := lastOf(t, srv, srv.Connect(t), p.Stats().Producer)
	stranger, err := openSigner(Options{Dir: t.TempDir()}, keyName)
	if err != nil {
		t.Fatal(err)
	}
	forged, err := stranger.sign(events.Manifest{
		Tenant: m.Tenant, Producer: m.Producer, First: m.Last + 1, Last: m.Last, Prev: prev, Root: events.BatchRoot(nil).String(), Next: m.Key,
	})
	if err != nil {
		t.Fatal(err)
	}
	forge(t, srv, srv.Connect(t), forged)
	appendMany(t, p, 5, 10)
	mustClose(t, p)
	if s := p.Stats(); s.Foreign != 1 || s.Producer != m.Producer {
		t.Errorf("stats %+v, want one foreign manifest", s)
	}
	wantArrived(t, srv, 0, 10)
}
