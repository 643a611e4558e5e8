package outbox

import (
	"errors"
	"fmt"
	"time"
)

type refusal struct {
	err  error // nil if the last event was written
	at   time.Time
	size int64 // of an event that reached the quota
}

func (r *refusal) note(err error) {
	switch {
	case err == nil:
		*r = refusal{}
	case hasNoRoom(err):
		r.err, r.at = err, time.Now()
	}
}

// diskRefusal is how long the disk counts as full after a failed write. After that, another write
// is tried.
const diskRefusal = 10 * time.Second

// The caller of full must hold o.mu.
func (o *outbox) full() error {
	r := o.refusal
	switch isQuota := errors.Is(r.err, errQuota); {
	case r.err == nil, isQuota && o.backlog.bytes+r.size <= o.opts.Quota, !isQuota && time.Since(r.at) > diskRefusal:
		return nil
	}
	return fmt.Errorf("%w: %w", ErrFull, r.err)
}

func (r *refusal) log(opts Options, err error) {
	switch wasFull := r.err != nil; {
	case hasNoRoom(err) && !wasFull:
		opts.Logger.Warn("outbox is full", "outbox", opts.Dir, "policy", opts.Full.String(), "error", err)
	case err == nil && wasFull:
		opts.Logger.Info("outbox has room again", "outbox", opts.Dir)
	}
}
