package outbox

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var acmeOnly = natstest.User{
	Name: "acme-only",
	Publish: []string{
		"hooktrail.ev.acme.>", "hooktrail.chain.acme.*",
		"$JS.API.DIRECT.GET.HOOKTRAIL_EV.hooktrail.chain.acme.*",
	},
	Subscribe: []string{"_INBOX.>"},
}

func twoTenants(t *testing.T, p *Publisher, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		e := newEvent(n)
		e.Tenant = []string{"acme", "globex"}[n%2]
		e.Run = "run-" + e.Tenant
		if n >= to-2 {
			e.Type, e.Data = events.RunFinished.Type(), []byte(`{"success":true}`)
		}
		mustAppend(t, p, e)
	}
}

func countTenants(t *testing.T, srv *natstest.Server) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, e := range checkStream(t, srv).events {
		counts[e.Tenant]++
	}
	return counts
}

// A tenant whose subjects no stream accepts does not block another tenant. Its events are sent once
// a stream accepts them.
//
//guarantee:tenant-refused
func TestSuspend_StreamWithoutTenant(t *testing.T) {
	srv := natstest.Start(t, natstest.Options{AllowTamper: true})
	var all []string
	updateStream(t, srv, func(c *jetstream.StreamConfig) {
		all, c.Subjects = c.Subjects, []string{"hooktrail.ev.acme.>", "hooktrail.chain.acme.>"}
	})
	opts := testOptions(t, t.TempDir())
	opts.Tenant, opts.SegmentBytes, opts.BatchEvents = "", 2<<10, 10
	p := mustOpen(t, srv.Connect(t), opts)
	twoTenants(t, p, 0, 100)
	until(t, "the one tenant's events and seal are there, and the other one waits", func() bool {
		s := p.Stats()
		return s.Acked == 51 && s.Suspended == 1 && s.Pending == 50
	})
	if s := p.Stats(); s.LastError == nil {
		t.Errorf("stats %+v", s)
	}
	for n := 100; n < 500; n++ {
		mustAppend(t, p, newEvent(n))
	}
	until(t, "more of the one tenant", func() bool { return p.Stats().Acked == 451 })
	mustAppend(t, p, newEvent(500)) // starts the compaction
	until(t, "the outbox is compacted", func() bool { return len(segments(t, opts.Dir)) < 30 })
	updateStream(t, srv, func(c *jetstream.StreamConfig) { c.Subjects = all })
	until(t, "no tenant is suspended", func() bool { return p.Stats().Suspended == 0 })
	mustFlush(t, p)
	if s := p.Stats(); s.LastError != nil || s.Pending != 0 || s.Bytes != 0 {
		t.Errorf("stats %+v", s)
	}
	mustClose(t, p)
	if got := countTenants(t, srv); got["acme"] != 451 || got["globex"] != 50 {
		t.Errorf("events: %v", got)
	}
	if n := len(segments(t, opts.Dir)); n > 2 {
		t.Errorf("%d segments are kept of what has arrived", n)
	}
}

// A publisher without the permission to write one tenant's events keeps them, and sends those of
// the other tenant.
//
//guarantee:tenant-refused
func TestSuspend_NoPermission(t *testing.T) {
	srv := natstest.Start(t, natstest.Options{Users: []natstest.User{acmeOnly}})
	opts := testOptions(t, t.TempDir())
	opts.Tenant, opts.AckWait = "", 200*time.Millisecond
	p := mustOpen(t, srv.Connect(t, nats.UserInfo("acme-only", "acme-only")), opts)
	twoTenants(t, p, 0, 20)
	until(t, "the one tenant's events and seal are there", func() bool { return p.Stats().Acked == 11 })
	twoTenants(t, p, 20, 30)
	until(t, "more of it", func() bool { return p.Stats().Acked == 16 })
	if s := p.Stats(); s.LastError == nil {
		t.Errorf("stats %+v", s)
	}
	until(t, "the other tenant is suspended", func() bool { return p.Stats().Suspended == 1 })
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := p.Close(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("close: got %v, want %v: events wait", err, context.DeadlineExceeded)
	}
	p = mustOpen(t, srv.Connect(t), opts)
	mustClose(t, p)
	if got := countTenants(t, srv); got["acme"] != 15 || got["globex"] != 15 {
		t.Errorf("events: %v, want 15 of each", got)
	}
}
