package outbox

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/state"
)

// eventStream is the smallest stream that the write path needs.
func eventStream(srv *natstest.Server) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: srv.Space().EventStream(), Subjects: []string{srv.Space().AllEvents(), srv.Space().AllChains()},
		AllowAtomicPublish: true, AllowDirect: true, Discard: jetstream.DiscardNew, MaxBytes: 64 << 20,
	}
}

func ownStream(tb testing.TB, change func(*jetstream.StreamConfig)) *natstest.Server {
	tb.Helper()
	srv := natstest.Start(tb, natstest.Options{NoStreams: true})
	config := eventStream(srv)
	change(&config)
	if _, err := srv.JetStream(tb).CreateStream(tb.Context(), config); err != nil {
		tb.Fatal(err)
	}
	return srv
}

func updateStream(tb testing.TB, srv *natstest.Server, change func(*jetstream.StreamConfig)) {
	tb.Helper()
	js := srv.JetStream(tb)
	stream, err := js.Stream(tb.Context(), srv.Space().EventStream())
	if err == nil {
		config := stream.CachedInfo().Config
		change(&config)
		_, err = js.UpdateStream(tb.Context(), config)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// The server refuses one event of a batch, with or without a reason. It becomes a gap, and all
// other events arrive.
func TestDeliver_Refused(t *testing.T) {
	for name, tt := range map[string]struct {
		stream func(*jetstream.StreamConfig)
		event  func(*events.Event)
	}{
		"TooLarge": {
			func(c *jetstream.StreamConfig) { c.MaxMsgSize = 4000 },
			func(e *events.Event) { e.Data = []byte(`{"tool":"` + strings.Repeat("x", 5000) + `"}`) },
		},
		"NoReason": { // the server sees a batch with a hole, because the stream does not take the subject
			func(c *jetstream.StreamConfig) {
				c.Subjects = []string{"hooktrail.ev.*.*.*.tool=2Ebefore", "hooktrail.ev.*.*.*.gap=2Erecorded", "hooktrail.chain.>"}
			},
			func(e *events.Event) { e.Type, e.Data = events.Error.Type(), []byte(`{"error":{"message":"m"}}`) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := ownStream(t, tt.stream)
			opts := testOptions(t, t.TempDir())
			p := mustOpen(t, offline(t), opts)
			for n := range 100 {
				e := newEvent(n)
				if n == 30 || n == 99 {
					tt.event(&e)
				}
				mustAppend(t, p, e)
			}
			kill(p)
			p = mustOpen(t, srv.Connect(t), opts)
			mustFlush(t, p)
			if s := p.Stats(); s.Refused != 2 || s.Pending != 0 {
				t.Errorf("stats %+v", s)
			}
			mustClose(t, p)
			h := checkStream(t, srv)
			if len(h.events) != 98 || len(h.gaps) != 2 || h.gaps[0].First != 31 || h.gaps[1].First != 100 ||
				h.gaps[0].Reason != state.ReasonRefused {
				t.Errorf("%d events, gaps %+v", len(h.events), h.gaps)
			}
		})
	}
}

// Events wait until the stream has the right configuration.
func TestDeliver_WaitsForStream(t *testing.T) {
	for name, change := range map[string]func(*jetstream.StreamConfig){
		"NoChain":  func(c *jetstream.StreamConfig) { c.Subjects = c.Subjects[:1] },
		"NoEvents": func(c *jetstream.StreamConfig) { c.Subjects = c.Subjects[1:] },
		"NoBatch":  func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false },
		"NoDirect": func(c *jetstream.StreamConfig) { c.AllowDirect = false },
		"NoStream": func(c *jetstream.StreamConfig) { c.Name, c.Subjects = "OTHER", []string{"other"} },
	} {
		t.Run(name, func(t *testing.T) {
			srv := ownStream(t, change)
			p := mustOpen(t, srv.Connect(t), testOptions(t, t.TempDir()))
			appendMany(t, p, 0, 50)
			until(t, "forwarding waits", func() bool { return p.Stats().LastError != nil })
			t.Logf("waits: %v", p.Stats().LastError)
			js := srv.JetStream(t)
			var err error
			if name == "NoStream" {
				_, err = js.CreateStream(t.Context(), eventStream(srv))
			} else {
				_, err = js.UpdateStream(t.Context(), eventStream(srv))
			}
			if err != nil {
				t.Fatal(err)
			}
			mustClose(t, p)
			checkStream(t, srv).wantEvents(t, 0, 50)
		})
	}
}

// The server stored only a part of a batch, as on a full disk. The whole batch is sent again.
//
//guarantee:broker-full
func TestDeliver_Orphans(t *testing.T) {
	srv := natstest.Start(t)
	nc := srv.Connect(t)
	opts := testOptions(t, t.TempDir())
	p := mustOpen(t, offline(t), opts)
	appendMany(t, p, 0, 20)
	rd := p.outbox.log.Reader(1)
	for range 8 {
		it, err := rd.Next()
		if err != nil {
			t.Fatal(err)
		}
		subject, err := srv.Space().Event(it.Tenant, p.Stats().Producer, it.Run, events.Kind(it.Kind))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nc.Request(subject, it.Event, testTimeout); err != nil {
			t.Fatal(err)
		}
	}
	rd.Close()
	kill(p)
	p = mustOpen(t, nc, opts)
	mustClose(t, p)
	h := checkStream(t, srv)
	h.wantEvents(t, 0, 20)
	if h.repeats != 8 {
		t.Errorf("%d repeats", h.repeats)
	}
}

// Another process writes to the chain of one tenant. No event is affected, and the outbox keeps its
// producer id.
func TestDeliver_ForeignManifest(t *testing.T) {
	srv := natstest.Start(t)
	nc := srv.Connect(t)
	opts := testOptions(t, t.TempDir())
	opts.Tenant = ""
	p := mustOpen(t, nc, opts)
	for n := range 30 {
		e := newEvent(n)
		e.Tenant = []string{"a", "b", "c"}[n%3]
		mustAppend(t, p, e)
	}
	mustFlush(t, p)
	producer := p.Stats().Producer
	chain, err := srv.Space().Chain("b", producer)
	if err != nil {
		t.Fatal(err)
	}
	foreign := events.Manifest{
		Version: 1, Tenant: "b", Producer: producer, First: 11, Last: 11, Count: 1,
		Root: events.BatchRoot(make([]events.Hash, 1)).String(),
	}
	if _, err := nc.Request(chain, foreign.Encode(), testTimeout); err != nil {
		t.Fatal(err)
	}
	for n := range 30 {
		e := newEvent(30 + n)
		e.Tenant = []string{"a", "b", "c"}[n%3]
		mustAppend(t, p, e)
	}
	mustClose(t, p)
	if s := p.Stats(); s.Producer != producer || s.Foreign != 1 {
		t.Errorf("stats %+v, want producer %s and one foreign manifest", s, producer)
	}
	count := map[string]int{}
	for _, msg := range srv.Messages(t) {
		if a, err := srv.Space().Parse(msg.Subject); err == nil && !a.Manifest {
			count[a.Tenant]++
		}
	}
	for tenant, n := range count {
		if n != 20 {
			t.Errorf("tenant %s has %d events", tenant, n)
		}
	}
}

func TestDeliver_ManyTenants(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	opts.Tenant = ""
	p := mustOpen(t, offline(t), opts)
	const tenants, each = 250, 4
	for n := range tenants * each {
		e := newEvent(n)
		e.Tenant = string(rune('가' + n%tenants))
		mustAppend(t, p, e)
	}
	kill(p)
	p = mustOpen(t, srv.Connect(t), opts)
	mustClose(t, p)
	h := checkStream(t, srv)
	if len(h.events) != tenants*each || len(h.manifests) != tenants {
		t.Errorf("%d events of %d tenants", len(h.events), len(h.manifests))
	}
}
