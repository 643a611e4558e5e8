package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Reasons of lost numbers.
const (
	reasonShed    = "shed"    // the outbox was full
	reasonRefused = "refused" // the stream refuses the event
	reasonDamaged = "damaged" // the record on disk was damaged
	reasonUnknown = "unknown"
)

// source is the source of the events that the outbox itself appends.
const source = "/hooktrail/publish"

// gap is a range of a tenant's numbers that will never come.
type gap struct {
	tenant string
	events.Range
}

// gaps are the known ones of the numbers that the stream has not settled yet.
type gaps []gap

// add notes g, as part of the one before it where that goes on.
func (l *gaps) add(g gap) {
	for i, other := range *l {
		if other.tenant == g.tenant && other.Reason == g.Reason && other.Last+1 == g.First {
			(*l)[i].Last = g.Last
			return
		}
	}
	*l = append(*l, g)
}

// covers tells whether all of g is in one gap.
func (l gaps) covers(g gap) bool {
	return slices.ContainsFunc(l, func(o gap) bool {
		return o.tenant == g.tenant && o.First <= g.First && g.Last <= o.Last
	})
}

// ranges splits the numbers from first to last of a tenant by reason.
func (l gaps) ranges(tenant string, first, last uint64) []events.Range {
	var list []events.Range
	for at := first; at <= last; {
		r := events.Range{First: at, Last: last, Reason: reasonUnknown}
		for _, g := range l {
			switch {
			case g.tenant != tenant || g.Last < at || g.First > last:
			case g.First <= at:
				r = events.Range{First: at, Last: min(g.Last, last), Reason: g.Reason}
			case r.Reason == reasonUnknown:
				r.Last = min(r.Last, g.First-1)
			}
		}
		list = append(list, r)
		at = r.Last + 1
	}
	return list
}

// missing returns why a tenant's numbers from first to last never come.
func (o *outbox) missing(tenant string, first, last uint64) []events.Range {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.gaps.ranges(tenant, first, last)
}

// forget drops what is known about the numbers of a tenant up to last.
func (o *outbox) forget(tenant string, last uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gaps = slices.DeleteFunc(o.gaps, func(g gap) bool { return g.tenant == tenant && g.Last <= last })
}

// owe notes gaps that have to be recorded, and records them if there is room.
func (o *outbox) owe(ctx context.Context, list ...gap) {
	o.mu.Lock()
	o.owed = append(o.owed, list...)
	o.mu.Unlock()
	if err := o.begin(ctx); err != nil {
		return // what is owed is recorded with the next change
	}
	defer o.end()
	o.tryRecordGaps()
}

// tryRecordGaps records what is owed; what finds no room is tried again later.
// o.mu is held.
func (o *outbox) tryRecordGaps() {
	if err := o.recordGaps(); err != nil && !errors.Is(err, errNoRoom) {
		o.opts.Logger.Error("gap not recorded yet", "error", err)
	}
}

// recordGaps appends a gap.recorded for each range that was shed or is owed,
// once an eighth of the outbox is free: sooner, each of them would take the
// room of an event. o.mu is held.
func (o *outbox) recordGaps() error {
	if len(o.owed) == 0 && o.losses.empty() {
		return nil
	}
	if o.waiting > o.opts.Quota-o.opts.Quota/8 {
		return fmt.Errorf("%w: losses are to be recorded first", errNoRoom)
	}
	for len(o.owed) > 0 {
		if err := o.recordGap(o.owed[0]); err != nil {
			return err
		}
		o.owed = o.owed[1:]
	}
	for i, g := range o.losses.slots {
		if g.First == 0 {
			continue
		}
		if err := o.recordGap(g); err != nil {
			return err
		}
		if err := o.losses.put(i, gap{}); err != nil {
			return err
		}
	}
	return nil
}

// recordGap appends the gap.recorded of g. o.mu is held.
func (o *outbox) recordGap(g gap) error {
	e, err := newGapEvent(o.id.Producer, g)
	if err == nil {
		err = o.record(e)
	}
	if err != nil {
		return fmt.Errorf("record gap: %w", err)
	}
	return nil
}

// owes tells whether a gap is not recorded yet.
func (o *outbox) owes() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.owed) > 0 || !o.losses.empty()
}

// tryAgain records what is owed after a little while.
func (o *outbox) tryAgain(ctx context.Context) error {
	timer := time.NewTimer(roomPoll)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		o.owe(ctx)
		return nil
	}
}

// newGapEvent returns the event that records g. Recording a gap again, after a
// crash, gives the same id.
func newGapEvent(producer string, g gap) (events.Event, error) {
	e, err := events.New(events.GapRecorded, source,
		events.GapRecordedData{First: g.First, Last: g.Last, Reason: g.Reason})
	e.Tenant, e.Salt = g.tenant, events.NewSalt()
	e.ID = events.DeriveID("gap", g.tenant, producer,
		strconv.FormatUint(g.First, 10), strconv.FormatUint(g.Last, 10), g.Reason)
	return e, err
}

// gapOf returns the gap that a gap.recorded event records.
func gapOf(r record) (gap, bool) {
	e, err := events.Decode(r.event)
	if err != nil {
		return gap{}, false
	}
	d, err := events.Payload[events.GapRecordedData](e)
	if err != nil || d.First == 0 || d.Last < d.First {
		return gap{}, false
	}
	return gap{r.tenant, events.Range{First: d.First, Last: d.Last, Reason: d.Reason}}, true
}
