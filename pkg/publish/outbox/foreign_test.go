package outbox

import (
	"math"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/atomicbatch"
)

func lastOf(tb testing.TB, srv *natstest.Server, nc *nats.Conn, producer string) (events.Manifest, string) {
	tb.Helper()
	chain, err := srv.Space().Chain("acme", producer)
	if err != nil {
		tb.Fatal(err)
	}
	raw, _, err := atomicbatch.Over(nc).LastMessage(tb.Context(), srv.Space().EventStream(), chain)
	if err != nil {
		tb.Fatal(err)
	}
	m, err := events.DecodeManifest(raw)
	if err != nil {
		tb.Fatal(err)
	}
	return m, events.HashOf(raw).String()
}

func forge(tb testing.TB, srv *natstest.Server, nc *nats.Conn, m events.Manifest) {
	tb.Helper()
	chain, err := srv.Space().Chain(m.Tenant, m.Producer)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := nc.Request(chain, m.Encode(), testTimeout); err != nil {
		tb.Fatal(err)
	}
}

// skipping returns a manifest after m that lists the numbers up to last as missing.
func skipping(m events.Manifest, prev string, last uint64) events.Manifest {
	return events.Manifest{
		Version: 1, Tenant: m.Tenant, Producer: m.Producer, First: m.Last + 1, Last: last, Prev: prev,
		Missing: []events.Range{{First: m.Last + 1, Last: last, Reason: "shed"}}, Root: events.BatchRoot(nil).String(),
	}
}

func arrived(tb testing.TB, srv *natstest.Server) map[string]int {
	tb.Helper()
	count := map[string]int{}
	for _, msg := range srv.Messages(tb) {
		if e, err := events.Decode(msg.Data); err == nil {
			count[e.ID]++
		}
	}
	return count
}

func wantArrived(tb testing.TB, srv *natstest.Server, from, to int) {
	tb.Helper()
	count := arrived(tb, srv)
	for n := from; n < to; n++ {
		if id := newEvent(n).ID; count[id] == 0 {
			tb.Errorf("%s was lost", id)
		}
	}
}

// A stranger lists the next numbers of a producer as missing and publishes harmless events under
// them. The producer loses no event and continues.
//
//guarantee:foreign-manifest
func TestForeign_ManifestListsComingNumbers(t *testing.T) {
	for name, last := range map[string]uint64{"Nine": 9, "AllThereAre": 1e15, "Max": math.MaxInt64} {
		t.Run(name, func(t *testing.T) {
			srv := natstest.Start(t)
			stranger := srv.Connect(t)
			p := mustOpen(t, srv.Connect(t), testOptions(t, t.TempDir()))
			appendMany(t, p, 0, 5)
			mustFlush(t, p)
			before := p.Stats()

			m, prev := lastOf(t, srv, stranger, before.Producer)
			if last == 9 {
				last = m.Last + 9
			}
			forge(t, srv, stranger, skipping(m, prev, last))
			for n := range uint64(9) {
				e := newEvent(int(1000 + n))
				e.Producer, e.Sequence, e.Salt = m.Producer, m.Last+1+n, events.NewSalt()
				if err := e.Normalize(); err != nil {
					t.Fatal(err)
				}
				subject, err := srv.Space().Event("acme", m.Producer, e.Run, e.Kind())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := stranger.Request(subject, e.Encode(), testTimeout); err != nil {
					t.Fatal(err)
				}
			}
			appendMany(t, p, 5, 14)
			mustClose(t, p)

			wantArrived(t, srv, 0, 14)
			if s := p.Stats(); s.Producer != before.Producer || s.Foreign != 1 || s.Pending != 0 {
				t.Errorf("stats %+v, want producer %s and one foreign manifest", s, before.Producer)
			}
			if got, _ := lastOf(t, srv, stranger, m.Producer); !isSignedBy(got, m.Key) || len(got.Missing) > 0 {
				t.Errorf("the chain continues with %+v", got)
			}
		})
	}
}

// The answer to a batch is lost, and a foreign manifest hides the batch. It is sent again under the
// same producer id, because the copies do no harm.
//
//guarantee:foreign-manifest
func TestForeign_ManifestHidesBatch(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	p := appendOnline(t, srv, opts, 0, 5)
	appendOffline(t, opts, 5, 10)
	before := copyDir(t, opts.Dir)
	p2 := mustOpen(t, srv.Connect(t), opts)
	mustFlush(t, p2)
	kill(p2)

	stranger := srv.Connect(t)
	m, prev := lastOf(t, srv, stranger, p.Stats().Producer)
	foreign := skipping(m, prev, m.Last+1)
	forge(t, srv, stranger, foreign)
	opts.Dir, opts.BatchEvents = before, 2 // the batches have other borders
	p3 := appendOnline(t, srv, opts, 10, 15)
	wantArrived(t, srv, 0, 15)
	if s := p3.Stats(); s.Producer != m.Producer || s.Foreign != 1 {
		t.Errorf("stats %+v, want producer %s and one foreign manifest", s, m.Producer)
	}
}

// A stranger writes to the chain of one tenant again and again. Other tenants do not wait, and the
// events arrive when the flood ends.
//
//guarantee:foreign-manifest
func TestForeign_Flood(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	opts.Tenant = ""
	p := mustOpen(t, srv.Connect(t), opts)
	mustAppend(t, p, eventOf("acme", "acme-1"))
	mustAppend(t, p, eventOf("globex", "globex-1"))
	mustFlush(t, p)
	producer := p.Stats().Producer

	stranger := srv.Connect(t)
	m, prev := lastOf(t, srv, stranger, producer)
	foreign := skipping(m, prev, m.Last+1)
	chain, err := srv.Space().Chain("acme", producer)
	if err != nil {
		t.Fatal(err)
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for !isClosed(stop) {
			_, _ = stranger.Request(chain, foreign.Encode(), testTimeout) // until it ends
		}
	}()
	mustAppend(t, p, eventOf("acme", "acme-2"))
	mustAppend(t, p, eventOf("globex", "globex-2"))
	until(t, "the other tenant's event is there", func() bool { return p.Stats().Acked >= 3 })
	close(stop)
	<-ended
	mustClose(t, p)
	count := arrived(t, srv)
	for _, id := range []string{"acme-1", "acme-2", "globex-1", "globex-2"} {
		if count[id] == 0 {
			t.Errorf("%s was lost", id)
		}
	}
	if s := p.Stats(); s.Producer != producer {
		t.Errorf("stats %+v, want producer %s", s, producer)
	}
}

// A copy of the outbox has signed a manifest that lists unsent events as missing. The events get
// new numbers, and none is lost.
//
//guarantee:foreign-manifest
func TestForeign_OwnKeyLosesNoEvent(t *testing.T) {
	for name, last := range map[string]uint64{"Waiting": 8, "Beyond": 1e15} {
		t.Run(name, func(t *testing.T) {
			srv := natstest.Start(t)
			opts := testOptions(t, t.TempDir())
			p := appendOnline(t, srv, opts, 0, 5)
			stranger := srv.Connect(t)
			m, prev := lastOf(t, srv, stranger, p.Stats().Producer)
			copied, err := openSigner(Options{Dir: opts.Dir}, keyName)
			if err != nil {
				t.Fatal(err)
			}
			signed, err := copied.sign(skipping(m, prev, last))
			if err != nil {
				t.Fatal(err)
			}
			forge(t, srv, stranger, signed)
			p = appendOnline(t, srv, opts, 5, 12)
			wantArrived(t, srv, 0, 12)
			if s := p.Stats(); s.Producer == m.Producer || s.Foreign != 0 {
				t.Errorf("stats %+v, want another producer than %s", s, m.Producer)
			}
			if got, _ := lastOf(t, srv, stranger, p.Stats().Producer); got.Key != copied.public {
				t.Errorf("the new producer signs with %s, want the key of the outbox", got.Key)
			}
		})
	}
}
