package publish

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/cursor"
)

// idleBeats is the number of heartbeats without an event after which a tenant is announced as
// closed, until its next event. Otherwise an outbox with many tenants would send heartbeats
// for all of them permanently. An open tenant gets a manifest in each [Options.Heartbeat].
const idleBeats = 144

// closeWait limits how long Close tries to announce the end, because a command must not wait
// for it.
const closeWait = 2 * time.Second

// linkPoll is how often a due heartbeat checks whether the connection is back.
const linkPoll = time.Second

// announcer signs manifests without events. Each heartbeat is a single short attempt, so
// events never wait long for one.
type announcer struct {
	interval time.Duration // 0 announces nothing
	backlog  *waiting
	delivery *delivery

	opened time.Time
	next   time.Time            // no heartbeat is due before this time
	later  map[string]time.Time // time of the next attempt, for tenants whose heartbeat failed
	limit  int                  // tenants per batch, lower after a failure
}

func newAnnouncer(d *delivery) *announcer {
	return &announcer{
		interval: max(d.opts.Heartbeat, 0), backlog: d.backlog, delivery: d,
		opened: time.Now(), next: time.Now(), later: map[string]time.Time{}, limit: maxGroups,
	}
}

// announce adds the state of the producer and the heartbeat interval to m.
func (o Options) announce(m *events.Manifest, g *group, ch cursor.Chain) {
	if o.Heartbeat <= 0 || o.unsigned {
		return
	}
	if m.State = g.word; m.State != events.StateClosed {
		m.State, m.Interval = events.StateOpen, uint64((o.Heartbeat+time.Second-1)/time.Second)
	}
	if m.Last < m.First {
		m.Beat = ch.Beat + 1
	}
}

// dueAt returns when the next heartbeat of tenant is due. It returns zero if none is needed.
func (a *announcer) dueAt(tenant string, ch *cursor.Chain) (at time.Time) {
	switch {
	case ch.Last == 0 || ch.State == "" || a.delivery.suspended.isSuspended(tenant):
		return at
	case ch.State == events.StateOpen:
		at = ch.Heard().Add(a.interval)
	case time.Since(ch.Active()) < idleBeats*a.interval:
		at = a.opened.Add(a.interval)
	default:
		return at
	}
	if later := a.later[tenant]; later.After(at) {
		at = later
	}
	return at
}

// due returns the tenants whose heartbeat is due at now, and sets a.next.
func (a *announcer) due(now time.Time) (groups []*group) {
	a.next = now.Add(a.interval)
	for tenant, ch := range a.backlog.cursor.Chains() {
		at := a.dueAt(tenant, ch)
		switch {
		case at.IsZero():
		case len(groups) == a.limit && !at.After(now):
			a.next = now
		case !at.After(now):
			groups = append(groups, &group{tenant: tenant, word: a.wordOf(tenant, ch, now)})
		case at.Before(a.next):
			a.next = at
		}
	}
	return groups
}

func (a *announcer) wordOf(tenant string, ch *cursor.Chain, now time.Time) events.State {
	if now.Sub(ch.Active()) >= idleBeats*a.interval && a.delivery.outbox.lastNumber(tenant) == ch.Last {
		return events.StateClosed
	}
	return events.StateOpen
}

// alarm returns when send has work to do next, or zero if heartbeats are disabled.
func (a *announcer) alarm() time.Time {
	if a.interval == 0 {
		return time.Time{}
	}
	return a.next
}

// send sends the heartbeats that are due. It returns an error only if the stream and the
// outbox diverged. Other failures are retried later.
func (a *announcer) send(ctx context.Context) error {
	now := time.Now()
	if a.interval == 0 || now.Before(a.next) {
		return nil
	}
	if !a.delivery.link.IsUp() {
		a.next = now.Add(min(a.interval, linkPoll))
		return nil
	}
	groups := a.due(now)
	if len(groups) == 0 {
		return nil
	}
	err := a.try(ctx, groups)
	switch {
	case err == nil:
		a.limit = min(2*a.limit, maxGroups)
	case errors.Is(err, errDiverged) || ctx.Err() != nil:
		return err
	case len(groups) > 1:
		a.limit, a.next = len(groups)/2, now
	default:
		a.later[groups[0].tenant] = now.Add(a.interval / 4)
		a.next = now
	}
	return nil
}

// try makes one attempt to send the heartbeats of groups.
func (a *announcer) try(ctx context.Context, groups []*group) error {
	ctx, cancel := context.WithTimeout(ctx, min(a.delivery.opts.AckWait, suspendedWait))
	defer cancel()
	err := a.delivery.attempt(ctx, groups)
	if err != nil {
		a.delivery.chains.invalidate(groups)
		return err
	}
	for _, g := range groups {
		delete(a.later, g.tenant)
	}
	return nil
}

// close announces that the producer has closed. It does so in each tenant in which the
// producer is open and no event waits.
func (a *announcer) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeWait)
	defer cancel()
	var groups []*group
	for tenant, ch := range a.backlog.cursor.Chains() {
		if ch.State == events.StateOpen && a.delivery.outbox.lastNumber(tenant) == ch.Last {
			groups = append(groups, &group{tenant: tenant, word: events.StateClosed})
		}
	}
	for len(groups) > 0 {
		n := min(len(groups), maxGroups)
		if err := a.try(ctx, groups[:n]); err != nil {
			return fmt.Errorf("announce the end: %w", err)
		}
		groups = groups[n:]
	}
	return nil
}

// retire announces the end of a producer id before its waiting events move to a new one. If
// the stream has events that the outbox does not have, retire announces nothing for that
// tenant, because the outbox does not know the last number.
func (f *forwarder) retire(ctx context.Context) error {
	id := f.backlog.id
	if id.Key != id.signer.public {
		return nil
	}
	for tenant, ch := range f.backlog.cursor.Chains() {
		if ch.State != events.StateOpen {
			continue
		}
		err := f.chains.lookUp(ctx, tenant)
		if err == nil {
			err = f.delivery.attempt(ctx, []*group{{tenant: tenant, word: events.StateClosed}})
		}
		if err != nil && !errors.Is(err, errDiverged) && !errors.Is(err, ErrPermission) {
			return fmt.Errorf("announce the end of producer %s: %w", id.Producer, err)
		}
	}
	return nil
}

// announceEnd announces that the outbox has closed. It runs after the forwarder has stopped.
// Other processes can have appended to a shared outbox meanwhile, so it reads their events
// first.
func (f *forwarder) announceEnd(ctx context.Context) {
	err := errors.Join(f.save(), f.outbox.shared.takeIn(ctx))
	if err == nil {
		err = f.announcer.close(ctx)
	}
	if err = errors.Join(err, f.save()); err != nil {
		f.opts.Logger.Warn("outbox closed without saying so, open it again to do that", "outbox", f.opts.Dir, "error", err)
	}
}
