package auditor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
)

// room is what is left for ledgers that are set aside.
type room struct {
	mu             sync.Mutex
	ledgers, bytes int
}

func (r *room) take(bytes int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ledgers == 0 || r.bytes < bytes {
		return false
	}
	r.ledgers, r.bytes = r.ledgers-1, r.bytes-bytes
	return true
}

// write gives a ledger its part of a batch. One that takes too long for it is
// returned as set aside, if there is room, and is written to on beside the loop; so
// is one that ctx does not wait for.
func (p *projected) write(ctx context.Context, l *writer.Ledger, what late, left *room) (known, *aside, error) {
	a, failed := newAside(l, what), make(chan error, 1)
	p.writers.Go(func() { failed <- p.catchUp(p.beside, a) })
	tooLong := p.opts.tooLong()
	for {
		select {
		case err := <-failed:
			if err != nil {
				return known{}, nil, err
			}
			return knownOf(l), nil, nil
		case <-ctx.Done():
			return known{}, a, ctx.Err()
		case <-tooLong:
			if left.take(what.bytes) {
				return due(l.Tenant(), what), a, nil
			}
			tooLong = nil
		}
	}
}

// catchUp gives a ledger what waits for it, and closes a.done. A file that is busy
// is tried again until ctx ends; with any other error the rest goes on waiting, for
// comeBack.
func (p *projected) catchUp(ctx context.Context, a *aside) error {
	for {
		what, ok := a.next()
		if !ok {
			return nil
		}
		err := p.appendLate(ctx, a.ledger, what)
		switch {
		case err == nil:
			a.took()
		case ctx.Err() == nil && sqlite.ErrCode(err).ToPrimary() == sqlite.ResultBusy:
			a.mu.Lock()
			a.busy = err
			a.mu.Unlock()
			sleep(ctx, busyPause)
		default:
			a.mu.Lock()
			defer a.mu.Unlock()
			close(a.done)
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// lastAside waits for the ledgers that are set aside before the auditor ends. It
// does not hold p.mu meanwhile: readiness tells of them.
func (p *projected) lastAside(ctx context.Context) error {
	p.mu.Lock()
	rest := slices.Collect(maps.Values(p.asides))
	p.mu.Unlock()
	for _, a := range rest {
		select {
		case <-a.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return p.comeBackNow(ctx)
}

// longWaits returns which tenants wait for their ledgers for long, and why; nil when
// none does. Of scrubs, p.scrubs tells.
func (p *projected) longWaits() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs error
	for _, tenant := range slices.Sorted(maps.Keys(p.asides)) {
		a := p.asides[tenant]
		took := time.Since(a.since)
		if a.scrub || took <= longAside {
			continue
		}
		a.mu.Lock()
		why := a.busy
		a.mu.Unlock()
		if why == nil {
			why = errors.New("the disk takes that long, or another process has the file locked")
		}
		errs = errors.Join(errs, fmt.Errorf("what comes of tenant %q has waited for its ledger for %s; the other tenants go on: %w",
			tenant, took.Round(time.Second), why))
	}
	return errs
}
