package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/blob"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/state"
)

var errQuota = errors.New("quota reached")

func hasNoRoom(err error) bool { return errors.Is(err, errQuota) || errors.Is(err, disk.ErrNoSpace) }

const roomPoll = 200 * time.Millisecond

func prepare(opts Options, producer string, e *events.Event) ([]*events.Event, error) {
	if e.Tenant == "" {
		e.Tenant = opts.Tenant
	}
	if opts.Tenant != "" && e.Tenant != opts.Tenant {
		return nil, ErrForeignTenant
	}
	if e.ID == "" {
		e.ID = events.NewID()
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	if err := opts.Redactor.Redact(e); err != nil {
		return nil, fmt.Errorf("redact: %w", err)
	}
	e.Producer, e.Sequence, e.Salt = producer, 0, events.NewSalt()
	if err := e.Normalize(); err != nil {
		return nil, err
	}
	// Check the subject now, because the forwarder could no longer return an error to the caller.
	if _, err := opts.space().Event(e.Tenant, e.Producer, e.Run, e.Kind()); err != nil {
		return nil, err
	}
	return blob.Externalise(e)
}

type intake struct {
	outbox   *outbox
	isClosed bool // guarded by outbox.mu
}

func (in *intake) append(ctx context.Context, batch []*events.Event, again bool) error {
	log, ordinal, err := in.enter(ctx, batch, again)
	if err != nil {
		return err
	}
	if in.outbox.opts.Durability == DiskDurability {
		return log.Sync(ordinal)
	}
	return nil
}

func (in *intake) enter(ctx context.Context, batch []*events.Event, again bool) (log *segment.Log, ordinal uint64, err error) {
	for {
		log, ordinal, changed, err := in.tryEnter(ctx, batch, again)
		if changed == nil {
			return log, ordinal, err
		}
		if err := waitForRoom(ctx, changed, err); err != nil {
			return nil, 0, err
		}
	}
}

func (in *intake) tryEnter(ctx context.Context, batch []*events.Event, again bool) (log *segment.Log, ordinal uint64, changed <-chan struct{}, err error) {
	o := in.outbox
	if err := o.begin(ctx); err != nil {
		return nil, 0, nil, err
	}
	defer o.end()
	if in.isClosed {
		return nil, 0, nil, ErrClosed
	}
	if !again && o.isKnown(batch[len(batch)-1]) {
		return nil, 0, nil, ErrDuplicate
	}
	err = in.admit(batch)
	o.refusal.log(o.opts, err)
	o.refusal.note(err)
	switch {
	case err == nil:
		return o.log, o.log.End(), nil, nil
	case !hasNoRoom(err):
		return nil, 0, nil, err
	case o.opts.Full == Shed:
		return nil, 0, nil, in.shed(batch)
	case o.opts.Full == Fail:
		return nil, 0, nil, fmt.Errorf("%w: %w", ErrFull, err)
	}
	return nil, 0, o.backlog.changed, err
}

// The caller of admit must hold outbox.mu.
func (in *intake) admit(batch []*events.Event) error {
	o := in.outbox
	if err := o.recordLosses(); err != nil {
		return err
	}
	buf, err := o.encode(batch)
	if err != nil {
		return err
	}
	size := int64(len(buf))
	if size > o.opts.Quota {
		return fmt.Errorf("%w: %d bytes, the quota is %d", ErrTooLarge, size, o.opts.Quota)
	}
	if o.backlog.bytes+size > o.opts.Quota {
		o.refusal.size = size
		return fmt.Errorf("%w: %d bytes wait, %d are allowed", errQuota, o.backlog.bytes, o.opts.Quota)
	}
	return o.write(buf, batch)
}

// The caller of shed must hold outbox.mu.
func (in *intake) shed(batch []*events.Event) error {
	o := in.outbox
	first := o.numbers.nextOf(batch[0].Tenant)
	lost := state.Gap{Tenant: batch[0].Tenant, Range: events.Range{
		First: first, Last: first + uint64(len(batch)) - 1, Reason: state.ReasonShed,
	}}
	if err := o.losses.file.Add(lost); err != nil {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	for i, e := range batch {
		e.Producer, e.Sequence = o.id.Producer, first+uint64(i)
	}
	o.numbers.lose(lost)
	o.shed += uint64(len(batch))
	if o.opts.Durability == DiskDurability {
		if err := o.losses.file.Sync(); err != nil {
			return fmt.Errorf("%w: sync loss: %w", ErrShed, err)
		}
	}
	return ErrShed
}

func (in *intake) close() {
	in.outbox.mu.Lock()
	defer in.outbox.mu.Unlock()
	in.isClosed = true
	in.outbox.backlog.broadcast()
}

func waitForRoom(ctx context.Context, changed <-chan struct{}, cause error) error {
	timer := time.NewTimer(roomPoll)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("%w: %w: %w", ErrFull, cause, ctx.Err())
	case <-changed:
	case <-timer.C:
	}
	return nil
}
