package publish

import (
	"context"
	"errors"
	"time"
)

// errHeld says that what a tenant has waiting was set aside.
var errHeld = errors.New("tenant is set aside")

// hold is a tenant whose events the stream does not take at present, for want of
// permission for example. They stay where they are, and the cursor stays in
// front of them; what other tenants have behind them is sent. When it is due,
// reading begins again at the cursor.
type hold struct {
	first   uint64 // ordinal of the first record that stays; 0 while it is tried again
	waiting bool   // not to be tried before due
	due     time.Time
	delay   time.Duration
	err     error
}

const (
	firstHold = time.Second
	maxHold   = 15 * time.Second
	// heldWait is how long others wait for the answer to one that is tried again.
	heldWait = time.Second
)

// share is what a batch has of one tenant, records that need not be sent among
// it.
type share struct {
	first   uint64 // ordinal
	records int
	bytes   int64
	ids     []idHash
}

// add takes in an item. What was released before, and is read again for the sake
// of a tenant that was held, does not count again.
func (f *forwarder) add(b *batch, it item) {
	h := f.held[it.tenant]
	if it.ordinal > 0 && it.ordinal <= f.peak && h == nil {
		return
	}
	s := b.shares[it.tenant]
	if s == nil {
		s = &share{first: max(it.ordinal, f.read)}
		b.shares[it.tenant] = s
	}
	s.bytes += int64(it.size)
	if it.ordinal > 0 {
		s.records++
		s.ids = append(s.ids, it.id)
	}
}

// isHeld tells whether a tenant is not to be tried now.
func (f *forwarder) isHeld(tenant string) bool {
	h := f.held[tenant]
	return h != nil && h.waiting
}

// deliverAll delivers groups, and sets tenants aside whose events are not taken.
func (f *forwarder) deliverAll(ctx context.Context, groups []*group) error {
	var good, doubtful []*group
	for _, g := range groups {
		if f.held[g.tenant] == nil {
			good = append(good, g)
		} else {
			doubtful = append(doubtful, g)
		}
	}
	if len(good) > 0 {
		if err := f.deliver(ctx, good); err != nil && !errors.Is(err, errHeld) {
			return err
		}
	}
	return f.deliverAlone(ctx, doubtful)
}

// blocks tells whether a delivery that fails like this should not go on, since
// there are others who wait.
func (f *forwarder) blocks(groups []*group, what outcome, failures int) bool {
	switch what {
	case outcomeStored, outcomeConflict, outcomeRefused, outcomeTooLarge:
		return false
	case outcomeWait, outcomeLookUp, outcomeObscure:
	}
	tenant := groups[0].tenant
	if f.held[tenant] != nil && what != outcomeObscure {
		return failures > 0
	}
	return failures >= patience && (len(groups) > 1 || f.outbox.hasOthers(tenant))
}

// stepAside delivers the tenants of groups one by one, and sets the one aside
// that is alone.
func (f *forwarder) stepAside(ctx context.Context, groups []*group, cause error) error {
	f.unsettle(groups)
	if len(groups) > 1 {
		return f.deliverAlone(ctx, groups)
	}
	f.hold(groups[0].tenant, cause)
	return errHeld
}

// hold sets a tenant aside.
func (f *forwarder) hold(tenant string, cause error) {
	h := f.held[tenant]
	if h == nil {
		h = &hold{}
		f.held[tenant] = h
		f.opts.Logger.Warn("tenant is set aside: the stream does not take its events", "tenant", tenant, "error", cause)
	}
	h.delay = min(max(2*h.delay, firstHold), maxHold)
	h.waiting, h.due, h.err = true, time.Now().Add(h.delay), cause
	f.noteHeld()
}

// noteHeld publishes who is held, for Stats.
func (f *forwarder) noteHeld() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.holds, f.holdErr = len(f.held), nil
	for _, h := range f.held {
		f.holdErr = h.err
	}
}

// retry makes reading begin again for the tenants that are due.
func (f *forwarder) retry(now time.Time) {
	again := false
	for _, h := range f.held {
		if h.waiting && !h.due.After(now) {
			h.waiting, h.first, again = false, 0, true
		}
	}
	if again {
		f.rewind()
	}
}

// nextRetry returns when the next tenant is due; zero if none is held.
func (f *forwarder) nextRetry() (next time.Time) {
	for _, h := range f.held {
		if h.waiting && (next.IsZero() || h.due.Before(next)) {
			next = h.due
		}
	}
	return next
}

// settleHolds splits what b has between what goes and what stays, and returns
// where the cursor stands then.
func (f *forwarder) settleHolds(b *batch) (gone share, next uint64) {
	for tenant, s := range b.shares {
		if h := f.held[tenant]; h != nil && h.waiting {
			if h.first == 0 || s.first < h.first {
				h.first = s.first
			}
			continue
		}
		gone.records += s.records
		gone.bytes += s.bytes
		gone.ids = append(gone.ids, s.ids...)
	}
	f.peak = max(f.peak, f.read)
	next = f.read + 1
	for tenant, h := range f.held {
		switch {
		case h.first > 0:
			next = min(next, h.first)
		case !h.waiting && f.read == f.peak:
			delete(f.held, tenant) // all of it was delivered
			f.noteHeld()
		}
	}
	return gone, next
}

// hasOthers tells whether the outbox has taken events of other tenants.
func (o *outbox) hasOthers(tenant string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, itself := o.next[tenant]
	return len(o.next) > 1 || len(o.next) == 1 && !itself
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
