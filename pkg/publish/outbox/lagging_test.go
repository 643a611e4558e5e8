package outbox

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func ofTenant(tenant string, n int) events.Event {
	e := newEvent(n)
	e.Tenant, e.Run = tenant, "run-"+tenant
	return e
}

// endOf returns how many events the stream had stored when it had all events of a tenant.
func endOf(h *history, tenant string) (last int) {
	for i, e := range h.events {
		if e.Tenant == tenant {
			last = i + 1
		}
	}
	return last
}

// wantInOrder checks that the events 0 to n-1 have arrived, in the order of each tenant.
func wantInOrder(t *testing.T, h *history, n int) {
	t.Helper()
	last, seen := map[string]int{}, map[string]bool{}
	for _, e := range h.events {
		number, err := strconv.Atoi(strings.TrimPrefix(e.ID, "event-"))
		if err != nil || number < last[e.Tenant] {
			t.Fatalf("tenant %s: %s after %d, %v", e.Tenant, e.ID, last[e.Tenant], err)
		}
		last[e.Tenant], seen[e.ID] = number, true
	}
	if len(seen) != n || len(h.events) != n {
		t.Errorf("%d events with %d ids, want %d", len(h.events), len(seen), n)
	}
}

// Events of other tenants do not wait behind thousands of one tenant, not even a burst that is
// larger than a batch. The order within each tenant stays, also after a restart in the middle.
//
//guarantee:tenant-fair
func TestFair_Flood(t *testing.T) {
	const flood, burst = 3000, 350
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	opts.Tenant, opts.BatchEvents, opts.SegmentBytes, opts.Logger = "", 100, 64<<10, nil
	p := mustOpen(t, offline(t), opts)
	n := 0
	add := func(tenant string, count int) {
		for range count {
			mustAppend(t, p, ofTenant(tenant, n))
			n++
		}
	}
	add("flood", flood/2)
	add("quiet", 1)
	add("flood", flood/2)
	add("burst", burst)
	add("late", 1)
	kill(p)
	p = mustOpen(t, srv.Connect(t), opts)
	until(t, "the first ones are sent", func() bool { return p.Stats().Acked > flood/10 })
	kill(p)
	p = mustOpen(t, srv.Connect(t), opts)
	mustClose(t, p)
	if s := p.Stats(); s.Pending != 0 || s.Bytes != 0 {
		t.Errorf("stats %+v", s)
	}
	h := checkStream(t, srv)
	wantInOrder(t, h, n)
	for tenant, most := range map[string]int{"quiet": 200, "late": 400, "burst": 3 * burst} {
		if last := endOf(h, tenant); last == 0 || last > most {
			t.Errorf("the stream had %d events when it had all of %s, want at most %d", last, tenant, most)
		}
	}
}

// There are more lagging tenants than readers.
func TestFair_ManyLaggards(t *testing.T) {
	const tenants, each = 3 * maxLaggards, 30
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	opts.Tenant, opts.BatchEvents, opts.SegmentBytes, opts.Logger = "", 40, 16<<10, nil
	p := mustOpen(t, offline(t), opts)
	for n := range tenants * each {
		mustAppend(t, p, ofTenant(fmt.Sprintf("tenant-%d", n%tenants), n))
	}
	kill(p)
	p = mustOpen(t, srv.Connect(t), opts)
	for n := tenants * each; n < tenants*each+500; n++ {
		mustAppend(t, p, ofTenant("tenant-0", n))
	}
	mustFlush(t, p)
	if s := p.Stats(); s.Pending != 0 || s.Bytes != 0 {
		t.Errorf("stats %+v", s)
	}
	mustClose(t, p)
	wantInOrder(t, checkStream(t, srv), tenants*each+500)
	if n := len(segments(t, opts.Dir)); n > 2 {
		t.Errorf("%d segments are kept", n)
	}
}

// A lagging tenant that is suspended keeps its events, and the other tenants continue.
func TestFair_SuspendedLaggard(t *testing.T) {
	srv := natstest.Start(t, natstest.Options{Users: []natstest.User{acmeOnly}})
	opts := testOptions(t, t.TempDir())
	opts.Tenant, opts.BatchEvents, opts.AckWait, opts.Logger = "", 20, 0, nil
	p := mustOpen(t, offline(t), opts)
	for n := range 400 {
		mustAppend(t, p, ofTenant([]string{"globex", "acme"}[n%2], n))
	}
	kill(p)
	p = mustOpen(t, srv.Connect(t, nats.UserInfo("acme-only", "acme-only")), opts)
	until(t, "the events of one tenant are there", func() bool { return p.Stats().Acked == 200 && p.Stats().Suspended == 1 })
	if s := p.Stats(); s.Pending != 200 {
		t.Errorf("stats %+v", s)
	}
	kill(p)
	p = mustOpen(t, srv.Connect(t), opts)
	mustClose(t, p)
	wantInOrder(t, checkStream(t, srv), 400)
}
