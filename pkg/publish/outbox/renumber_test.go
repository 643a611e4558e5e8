package outbox

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func eventOf(tenant, id string) events.Event {
	e := newEvent(0)
	e.Tenant, e.Run, e.ID = tenant, "run-"+tenant, id
	return e
}

// After a power cut, a tenant whose chain cannot be read does not block other tenants. Its events
// wait for a user with the permission.
//
//guarantee:tenant-refused
func TestRenumber_ChainThatMayNotBeRead(t *testing.T) {
	srv := natstest.Start(t, natstest.Options{Users: []natstest.User{acmeOnly}})
	opts := testOptions(t, t.TempDir())
	opts.Tenant, opts.AckWait = "", 200*time.Millisecond
	opts.bootID = bootID("boot-1")
	p := mustOpen(t, offline(t), opts)
	for _, id := range []string{"1", "2", "3"} {
		mustAppend(t, p, eventOf("acme", id))
		mustAppend(t, p, eventOf("globex", id))
	}
	kill(p)

	opts.bootID = bootID("boot-2")
	p = mustOpen(t, srv.Connect(t, nats.UserInfo("acme-only", "acme-only")), opts)
	until(t, "the one tenant's events are there", func() bool { return p.Stats().Acked == 3 })
	kill(p)
	p = mustOpen(t, srv.Connect(t), opts)
	mustClose(t, p)
	if got := countTenants(t, srv); got["acme"] != 3 || got["globex"] != 3 {
		t.Errorf("events: %v, want 3 of each", got)
	}
}

// If no chain can be read, no event is sent under a new producer id, because the stream may have it
// under the old one.
func TestRenumber_NoChainMayBeRead(t *testing.T) {
	srv := natstest.Start(t, natstest.Options{Users: []natstest.User{{
		Name: "blind", Publish: []string{"hooktrail.>"}, Subscribe: []string{"_INBOX.>"},
	}}})
	opts := testOptions(t, t.TempDir())
	opts.AckWait = 200 * time.Millisecond
	opts.bootID = bootID("boot-1")
	appendOffline(t, opts, 0, 5)
	before := copyDir(t, opts.Dir)
	p := mustOpen(t, srv.Connect(t), opts)
	mustFlush(t, p)
	kill(p)

	opts.Dir, opts.bootID = before, bootID("boot-2")
	p = mustOpen(t, srv.Connect(t, nats.UserInfo("blind", "blind")), opts)
	until(t, "the operator is told", func() bool { return p.Stats().LastError != nil })
	kill(p)
	p = mustOpen(t, srv.Connect(t), opts)
	mustClose(t, p)
	checkStream(t, srv).wantEvents(t, 0, 5)
}

// If the chain of one tenant has diverged, the sent events of other tenants are not sent again.
func TestRenumber_OneDiverged(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	opts.Tenant = ""
	p := mustOpen(t, offline(t), opts)
	mustAppend(t, p, eventOf("acme", "0"))
	mustAppend(t, p, eventOf("globex", "0"))
	kill(p)
	copied := copyDir(t, opts.Dir)
	p = mustOpen(t, srv.Connect(t), opts)
	mustAppend(t, p, eventOf("acme", "1"))
	mustFlush(t, p)
	kill(p)

	opts.Dir = copied
	p = mustOpen(t, offline(t), opts)
	mustAppend(t, p, eventOf("acme", "2"))
	kill(p)
	p = mustOpen(t, srv.Connect(t), opts)
	mustClose(t, p)
	if got := countTenants(t, srv); got["globex"] != 1 {
		t.Errorf("events: %v, want 1 of globex", got)
	}
}
