package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/cursor"
)

// idleBeats is how many heartbeats follow a tenant's last event, so that an idle tenant does not
// send heartbeats permanently.
const idleBeats = 144

const closeWait = 2 * time.Second

const linkPoll = time.Second

type announcer struct {
	interval time.Duration // 0 if heartbeats are disabled
	backlog  *waiting
	delivery *delivery

	opened time.Time
	next   time.Time            // no heartbeat is due before this time
	later  map[string]time.Time // next attempt for tenants whose heartbeat failed
	limit  int                  // tenants per batch, lower after a failure
}

func newAnnouncer(d *delivery) *announcer {
	return &announcer{
		interval: max(d.opts.Heartbeat, 0), backlog: d.backlog, delivery: d,
		opened: time.Now(), next: time.Now(), later: map[string]time.Time{}, limit: maxGroups,
	}
}

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

func (a *announcer) alarm() time.Time {
	if a.interval == 0 {
		return time.Time{}
	}
	return a.next
}

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

func (a *announcer) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeWait)
	defer cancel()
	var groups []*group
	for tenant, ch := range a.backlog.cursor.Chains() {
		// A closed producer may owe one more manifest, because its issuer was endorsed after the
		// close.
		isDue := ch.State == events.StateOpen || ch.State == events.StateClosed && a.delivery.opts.issuer.owesGrant(*ch)
		if isDue && a.delivery.outbox.lastNumber(tenant) == ch.Last {
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

func (f *forwarder) announceEnd(ctx context.Context) {
	err := errors.Join(f.save(), f.outbox.shared.takeIn(ctx))
	if err == nil {
		err = f.announcer.close(ctx)
	}
	if err = errors.Join(err, f.save()); err != nil {
		f.opts.Logger.Warn("outbox closed without saying so, open it again to do that", "outbox", f.opts.Dir, "error", err)
	}
}
