package outbox

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/state"
)

const source = "/hooktrail/publish"

type lossLog struct {
	file   *state.Losses // shed events
	others []state.Gap   // losses of refused and damaged events
}

func (l *lossLog) isEmpty() bool { return len(l.others) == 0 && l.file.IsEmpty() }

func (l *lossLog) take(record func(state.Gap) error) error {
	for len(l.others) > 0 {
		if err := record(l.others[0]); err != nil {
			return err
		}
		l.others = l.others[1:]
	}
	return l.file.Take(func(g state.Gap) (bool, error) { return true, record(g) })
}

func (o *outbox) addLosses(ctx context.Context, list ...state.Gap) {
	o.mu.Lock()
	o.losses.others = append(o.losses.others, list...)
	o.mu.Unlock()
	if err := o.begin(ctx); err != nil {
		return // the next change of the outbox records them
	}
	defer o.end()
	o.tryRecordLosses()
}

// The caller of tryRecordLosses must hold o.mu.
func (o *outbox) tryRecordLosses() {
	if err := o.recordLosses(); err != nil && !hasNoRoom(err) {
		o.opts.Logger.Error("gap not recorded yet", "error", err)
	}
}

// The caller of recordLosses must hold o.mu.
func (o *outbox) recordLosses() error {
	if o.losses.isEmpty() {
		return nil
	}
	if o.backlog.bytes > o.opts.Quota-o.opts.Quota/8 {
		return fmt.Errorf("%w: losses are recorded first", errQuota)
	}
	return o.losses.take(func(g state.Gap) error {
		e, err := newGapEvent(o.id.Producer, g)
		if err == nil {
			err = o.writeOwn(e)
		}
		if err != nil {
			return fmt.Errorf("record gap: %w", err)
		}
		return nil
	})
}

func (o *outbox) hasLosses() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.losses.isEmpty()
}

func (o *outbox) retryLosses(ctx context.Context) error {
	timer := time.NewTimer(roomPoll)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		o.addLosses(ctx)
		return nil
	}
}

// newGapEvent derives the id from the gap, so that a repetition after a crash has the same id.
func newGapEvent(producer string, g state.Gap) (events.Event, error) {
	e, err := events.New(events.GapRecorded, source,
		events.GapRecordedData{First: g.First, Last: g.Last, Reason: g.Reason})
	e.Tenant, e.Salt = g.Tenant, events.NewSalt()
	e.ID = events.DeriveID("gap", g.Tenant, producer,
		strconv.FormatUint(g.First, 10), strconv.FormatUint(g.Last, 10), g.Reason)
	return e, err
}

func gapOf(r segment.Record) (state.Gap, bool) {
	e, err := events.Decode(r.Event)
	if err != nil {
		return state.Gap{}, false
	}
	d, err := events.Payload[events.GapRecordedData](e)
	if err != nil || d.First == 0 || d.Last < d.First {
		return state.Gap{}, false
	}
	return state.Gap{Tenant: r.Tenant, Range: events.Range{First: d.First, Last: d.Last, Reason: d.Reason}}, true
}
