package publish

import (
	"context"
	"errors"
	"fmt"
	"os"

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
		Full: o.Full, SegmentBytes: o.SegmentBytes, SubjectPrefix: o.SubjectPrefix,
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
// them, none was stored; with [ErrShed] the events come back with the numbers
// that they lost.
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
	lock, err := lockDir(ctx, opts.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	id, err := openIdentity(opts)
	if err != nil {
		return nil, err
	}
	box, cur, err := openOutbox(opts, id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, box.spool.close(), box.losses.close(), cur.close()) }()
	p := &Publisher{opts: opts, space: opts.space(), outbox: box}
	stored = append(stored, list...)
	var batch []*events.Event
	for i := range stored {
		part, err := p.prepare(&stored[i])
		if err != nil {
			return nil, fmt.Errorf("event %s: %w", stored[i].ID, err)
		}
		if stored[i].Tenant != stored[0].Tenant {
			return nil, errors.New("events of two tenants in one call")
		}
		batch = append(batch, part...)
	}
	if err := box.append(ctx, batch); err != nil && !errors.Is(err, ErrShed) {
		return nil, err
	} else if err != nil {
		return stored, err
	}
	return stored, nil
}
