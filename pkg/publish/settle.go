package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// settled notes that the stream has the group and its manifest m. cursor.mu is
// held.
func (f *forwarder) settled(g *group, m events.Manifest, hash string) {
	ch := f.cursor.chain(g.tenant)
	for _, r := range m.Missing {
		if r.Last > ch.Last && (r.Reason == reasonRefused || r.Reason == reasonUnknown) {
			ch.Owed = append(ch.Owed, r)
			f.missing = append(f.missing, gap{g.tenant, r})
		}
	}
	ch.Last, ch.Prev = m.Last, hash
	f.cursor.touchChain(g.tenant)
	for _, e := range g.entries {
		f.count(g.tenant, e)
		if e.kind == events.GapRecorded {
			ch.Owed = slices.DeleteFunc(ch.Owed, func(r events.Range) bool { return r == e.gap })
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acked += uint64(len(g.entries))
	f.lastAck = time.Now()
	f.err = nil
}

// acknowledged passes on what the last answer has settled. cursor.mu is held.
func (f *forwarder) acknowledged(ctx context.Context, groups []*group) {
	for _, g := range groups {
		f.outbox.forget(g.tenant, f.cursor.chain(g.tenant).Last)
	}
	if len(f.missing) == 0 {
		return
	}
	f.mu.Lock()
	for _, r := range f.missing {
		if r.Reason == reasonRefused {
			f.refused += r.Last - r.First + 1
		}
		f.opts.Logger.Error("events are lost", "tenant", r.tenant, "first", r.First, "last", r.Last, "reason", r.Reason)
	}
	f.mu.Unlock()
	f.outbox.owe(ctx, f.missing...)
	f.missing = nil
}

// release settles a whole batch: the cursor moves behind it, and segments that
// have nothing else go.
func (f *forwarder) release(ctx context.Context, b *batch) {
	f.cursor.mu.Lock()
	defer f.cursor.mu.Unlock()
	gone, next := f.settleHolds(b)
	f.cursor.next = next
	if err := errors.Join(f.persist(gone), f.retire()); err != nil {
		// Progress is kept in memory, and the stream knows it too.
		f.note(err)
	}
	// Seals come first: who waits for the release finds them in the outbox.
	if _, err := f.seal(ctx, time.Now()); err != nil {
		f.note(err)
	}
	f.outbox.release(ctx, f.cursor.next, uint64(gone.records), gone.bytes)
	if err := f.carry(ctx); err != nil {
		f.note(err)
	}
}

// persist writes cursor and ids, and drops segments once both are on disk.
func (f *forwarder) persist(gone share) error {
	o := f.outbox
	if err := errors.Join(o.acknowledgeIDs(gone.ids), f.cursor.save()); err != nil {
		if !errors.Is(err, errNoRoom) {
			return err
		}
		// Give up the room that was kept for this, and try again.
		if err := o.spare.use(func() error { return errors.Join(o.acknowledgeIDs(nil), f.cursor.rewrite()) }); err != nil {
			return err
		}
	}
	spool := o.currentSpool()
	if !spool.droppable(f.cursor.next) {
		return nil
	}
	if err := errors.Join(f.cursor.sync(), o.syncIDs()); err != nil {
		return err
	}
	if err := spool.drop(f.cursor.next); err != nil {
		return err
	}
	return o.spare.refill()
}

// clear makes an outbox trustworthy that lost power, or that the stream has
// others' events of: what the stream has of ours is settled, and the rest goes
// out under a new producer id, because a number may have been sent that the disk
// then lost.
//
// A tenant whose chain may not be read holds up nobody else. What the stream has
// of its waiting events without our knowing goes there again, with the same ids.
func (f *forwarder) clear(ctx context.Context) error {
	if err := f.link.wait(ctx); err != nil {
		return err
	}
	tenants := map[string]bool{}
	f.cursor.mu.Lock()
	err := f.eachWaiting(func(it item) { tenants[it.tenant] = true })
	f.cursor.mu.Unlock()
	if err != nil {
		return err
	}
	var denied []error
	for tenant := range tenants {
		err := f.settle(ctx, tenant)
		switch {
		case err == nil, errors.Is(err, errDiverged):
		case errors.Is(err, ErrPermission):
			denied = append(denied, fmt.Errorf("look up chain: %w", err))
		default:
			return fmt.Errorf("look up chain: %w", err)
		}
	}
	if len(denied) > 0 && len(denied) == len(tenants) {
		return denied[0] // nobody can go on
	}
	return f.startOver(ctx)
}

// close lets go of everything.
func (f *forwarder) close() error {
	f.batcher.close()
	f.link.close()
	f.reader.close()
	return f.cursor.close()
}
