package outbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/cursor"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/state"
	"github.com/hooktrail/hooktrail/pkg/publish/transport"
)

// SharedOptions configure [AppendShared]. Redactor is required. All processes with the same outbox
// should use the same options.
type SharedOptions struct {
	Name     string   // as in [Options], default "shared"
	Tenant   string   // only allowed tenant, and default for events
	Redactor Redactor // [NoRedaction] disables redaction

	Durability   Durability
	Quota        int64      // maximum size of unsent events in bytes, default 1 GiB
	Full         FullPolicy // what happens at the quota or on a full disk, default [Fail]
	SegmentBytes int64      // default 16 MiB, at most an eighth of Quota

	Journal       string // as in [Options]
	SubjectPrefix string // default "hooktrail."
}

const defaultSharedName = "shared"

func (o SharedOptions) options(dir string) Options {
	if o.Name == "" {
		o.Name = defaultSharedName
	}
	return Options{
		Dir: dir, Name: o.Name, Tenant: o.Tenant, Redactor: o.Redactor, Durability: o.Durability, Quota: o.Quota,
		Full: o.Full, SegmentBytes: o.SegmentBytes, SubjectPrefix: o.SubjectPrefix, Journal: o.Journal, shared: true,
	}
}

// Validate returns an error that names the first invalid field.
func (o SharedOptions) Validate() error { return o.options("-").Validate() }

// AppendShared redacts, numbers and stores events in the outbox in dir, and returns the stored
// events. It needs no server, because a process with [OpenShared] forwards the events. It is safe
// for concurrent use by any number of processes.
//
// All events of a call must have the same tenant, and get consecutive numbers. If AppendShared
// returns nil, each event will reach the stream once. [SharedOptions.Durability] limits what it
// survives. After an error no event is stored, except perhaps after a failed disk write. With
// [ErrShed], the returned events have their lost numbers.
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
	lock, err := disk.OpenMutex(opts.appendLock())
	if err != nil {
		return nil, err
	}
	o := newOutbox(opts)
	o.shared = &sharing{outbox: o, lock: lock}
	err = (&intake{outbox: o}).append(ctx, batch, false)
	if err != nil && !errors.Is(err, ErrShed) {
		stored = nil
	}
	return stored, errors.Join(err, o.shared.unload(), lock.Close())
}

func prepareAll(opts Options, list []events.Event) (stored []events.Event, batch []*events.Event, err error) {
	id, err := readIdentity(opts.Dir)
	if errors.Is(err, os.ErrNotExist) {
		id.Producer = newProducerID(opts.Name) // as long as the final id
	} else if err != nil {
		return nil, nil, err
	}
	stored = slices.Clone(list)
	for i := range stored {
		e := &stored[i]
		prepared, err := prepare(opts, id.Producer, e)
		if err != nil {
			return nil, nil, fmt.Errorf("event %s: %w", e.ID, err)
		}
		if e.Tenant != stored[0].Tenant {
			return nil, nil, fmt.Errorf("event %s: %w: all events of a call must have one tenant", e.ID, ErrForeignTenant)
		}
		batch = append(batch, prepared...)
	}
	return stored, batch, nil
}

// OpenShared is like [Open] for an outbox to which processes append with [AppendShared]. It notices
// their events within a tenth of a second. It does not support [Options.Unique].
func OpenShared(ctx context.Context, server transport.Server, opts Options) (*Publisher, error) {
	if opts.Name == "" {
		opts.Name = defaultSharedName
	}
	if opts.Unique {
		return nil, errors.New("open shared outbox: option Unique: not supported by a shared outbox")
	}
	opts.shared = true
	return Open(ctx, server, opts)
}

func openShared(ctx context.Context, opts Options) (_ *outbox, _ *cursor.Cursor, err error) {
	lock, err := disk.OpenMutex(opts.appendLock())
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	if err := lock.Lock(ctx); err != nil {
		return nil, nil, err
	}
	defer lock.Unlock()
	id, err := openIdentity(opts)
	if err != nil {
		return nil, nil, err
	}
	o, c, err := openOutbox(opts, id)
	if err != nil {
		return nil, nil, err
	}
	s := &sharing{outbox: o, lock: lock, forwards: true}
	if s.tail, err = state.OpenTail(string(o.log.Dir)); err == nil {
		s.version, err = s.tail.Version()
	}
	if err == nil || errors.Is(err, state.ErrNoTail) {
		err = s.saveTail()
	}
	if err != nil {
		return nil, nil, errors.Join(err, s.unload(), c.Close())
	}
	o.shared = s
	return o, c, nil
}
