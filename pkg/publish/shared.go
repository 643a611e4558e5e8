package publish

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// SharedOptions configure [AppendShared]. Redactor is required. All processes
// that append to one outbox should give the same.
type SharedOptions struct {
	Name     string   // the producer id is Name, a dash and eight hex digits; default "shared"
	Tenant   string   // given to events without a tenant; when set, no others are taken
	Redactor Redactor // [NoRedaction] opts out

	Durability   Durability
	Quota        int64      // bytes of events that may wait; default 1 GiB
	Full         FullPolicy // when that many wait, or the disk is full
	SegmentBytes int64      // size of an outbox file; default 16 MiB, at most an eighth of Quota

	SubjectPrefix string // default "hooktrail."
}

const defaultSharedName = "shared"

func (o SharedOptions) options(dir string) Options {
	if o.Name == "" {
		o.Name = defaultSharedName
	}
	return Options{
		Dir: dir, Name: o.Name, Tenant: o.Tenant, Redactor: o.Redactor, Durability: o.Durability, Quota: o.Quota,
		Full: o.Full, SegmentBytes: o.SegmentBytes, SubjectPrefix: o.SubjectPrefix, shared: true,
	}
}

// Validate returns an error that names the first field that cannot be used.
func (o SharedOptions) Validate() error { return o.options("-").Validate() }

// AppendShared redacts, numbers and stores events in the outbox dir, which any
// number of processes may append to at the same time, and returns them as they
// were stored. It needs no server: whoever holds the outbox open with
// [OpenShared], now or later, forwards them.
//
// All events of a call are of one tenant and lie next to each other. When it
// returns nil each of them will reach the stream, once, if what
// [SharedOptions.Durability] says holds. After an error, an end of ctx among
// them, none was stored; only an error of the disk, from a sync or at the end of
// the call, leaves that open. With [ErrShed] the events come back with the
// numbers that they lost.
func AppendShared(ctx context.Context, dir string, opts SharedOptions, list ...events.Event) ([]events.Event, error) {
	o := opts.options(dir)
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("append to shared outbox: %w", err)
	}
	stored, err := appendShared(ctx, o.withDefaults(), list)
	if err != nil {
		return stored, fmt.Errorf("append to shared outbox %s: %w", dir, err)
	}
	return stored, nil
}

func appendShared(ctx context.Context, opts Options, list []events.Event) (stored []events.Event, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, err
	}
	stored, batch, err := prepareAll(opts, list)
	if err != nil {
		return nil, err
	}
	o, err := newSharedOutbox(opts)
	if err != nil {
		return nil, err
	}
	err = o.append(ctx, batch)
	if err != nil && !errors.Is(err, ErrShed) {
		stored = nil
	}
	return stored, errors.Join(err, o.unload(), o.shared.turn.close())
}

// prepareAll makes copies of the events of one call ready to be numbered, and
// returns them, and all that is to be stored.
func prepareAll(opts Options, list []events.Event) (stored []events.Event, batch []*events.Event, err error) {
	id, err := readIdentity(opts.Dir)
	if errors.Is(err, os.ErrNotExist) {
		id.Producer = newProducerID(opts.Name) // as long as the one that it will be
	} else if err != nil {
		return nil, nil, err
	}
	stored = slices.Clone(list)
	for i := range stored {
		e := &stored[i]
		part, err := prepare(opts, id.Producer, e)
		if err != nil {
			return nil, nil, fmt.Errorf("event %s: %w", e.ID, err)
		}
		if e.Tenant != stored[0].Tenant {
			return nil, nil, fmt.Errorf("event %s: %w: those of one call are of one", e.ID, ErrForeignTenant)
		}
		batch = append(batch, part...)
	}
	return stored, batch, nil
}

// newSharedOutbox returns an outbox that is not loaded yet.
func newSharedOutbox(opts Options) (*outbox, error) {
	turn, err := openTurn(opts.Dir)
	if err != nil {
		return nil, err
	}
	return &outbox{
		opts: opts, space: opts.space(), spare: spare{opts.Dir},
		wake: make(chan struct{}, 1), changed: make(chan struct{}), shared: &sharing{turn: turn},
	}, nil
}

// OpenShared is [Open] for an outbox that other processes append to with
// [AppendShared]: it forwards what they append, within a tenth of a second. One
// process at a time does; OpenShared waits until ctx ends for another one to
// close it, or to end. [Options.Unique] cannot be had.
func OpenShared(ctx context.Context, nc *nats.Conn, opts Options) (*Publisher, error) {
	if opts.Name == "" {
		opts.Name = defaultSharedName
	}
	if opts.Unique {
		return nil, errors.New("open shared outbox: option Unique: a shared outbox does not keep the ids that it took")
	}
	opts.shared = true
	return Open(ctx, nc, opts)
}

// openShared opens the outbox for who forwards.
func openShared(ctx context.Context, opts Options) (_ *outbox, _ *cursor, err error) {
	turn, err := openTurn(opts.Dir)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, turn.close())
		}
	}()
	if err := turn.take(ctx); err != nil {
		return nil, nil, err
	}
	defer turn.give()
	id, err := openIdentity(opts)
	if err != nil {
		return nil, nil, err
	}
	o, c, err := openOutbox(opts, id)
	if err != nil {
		return nil, nil, err
	}
	o.shared = &sharing{turn: turn, forwards: true}
	if o.shared.tail, err = openTail(o.spool.dir); err != nil {
		return nil, nil, errors.Join(err, o.spool.letGo(), o.losses.close(), c.close())
	}
	if o.shared.version, err = o.shared.tail.version(); err != nil && !errors.Is(err, errNoTail) {
		return nil, nil, errors.Join(err, o.unload(), c.close())
	}
	if err = o.saveTail(); err != nil {
		return nil, nil, errors.Join(err, o.unload(), c.close())
	}
	return o, c, nil
}

// watchEvery is how often who forwards looks for what others append.
const watchEvery = 50 * time.Millisecond

// watch takes in what other processes append, until ctx ends.
func (o *outbox) watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !o.isBehind() {
			continue
		}
		err := o.notice(ctx)
		if err != nil && ctx.Err() == nil && !failed {
			o.opts.Logger.Error("shared outbox not read, and is tried again", "error", err)
		}
		failed = err != nil
	}
}

// isBehind tells whether another process has changed the outbox. It costs one
// small read.
func (o *outbox) isBehind() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	version, err := o.shared.tail.version()
	return err != nil || version != o.shared.version
}

// notice takes in what other processes did so far.
func (o *outbox) notice(ctx context.Context) error {
	if o.shared == nil {
		return nil
	}
	if err := o.begin(ctx); err != nil {
		return err
	}
	o.end()
	return nil
}
