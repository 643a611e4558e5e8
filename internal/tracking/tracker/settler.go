package tracker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/tracking/beads"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	roundSize  = 500 // effects or decisions in one transaction
	firstRetry = 200 * time.Millisecond
	maxRetry   = 10 * time.Second
	// callTimeout limits one call of the backend. It is longer than the deadline of bd.
	callTimeout = 30 * time.Second
	// An export writes whole files. The pause after it is exportPause times its duration, at
	// most maxExportPause.
	exportPause    = 20
	maxExportPause = 10 * time.Second
	noTimeout      = time.Duration(0)
)

// settler applies the effects of decisions to the backend and publishes the decisions. Rounds
// run in one goroutine.
type settler struct {
	db      *projection.DB
	backend backend
	outbox  outbox
	logger  *slog.Logger
	stage   func(string)

	wake   chan struct{} // has capacity 1
	caught atomic.Bool   // the stream is read up to its last message at the start
	scrub  atomic.Bool   // texts were erased, and the log of the database may still contain them

	// Owned by the goroutine of the rounds.
	scrubAgain bool          // scrub once more when all workspaces are up to date
	exported   time.Time     // of the latest export
	cost       time.Duration // its duration

	mu     sync.Mutex // guards target, failed and since; no other lock is taken while it is locked
	target *uint64    // last sequence of the stream at the start; nil if unknown
	failed error      // of the latest round
	since  time.Time  // last time the backend accepted a change; zero if none are pending
}

// outbox publishes decisions and clock ticks.
type outbox interface {
	// Append stores e durably. It returns [publish.ErrDuplicate] for a known id.
	Append(ctx context.Context, e events.Event) (events.Event, error)
}

func newSettler(opts Options, db *projection.DB, box outbox) *settler {
	return &settler{
		db: db, backend: opts.backend, outbox: box, logger: opts.Logger, stage: opts.stage,
		wake: make(chan struct{}, 1),
	}
}

func (s *settler) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// noteProgress records how far the stream is read. Messages from before the start include
// decisions of an earlier tracker, so they are read before new decisions are published.
func (s *settler) noteProgress(p consume.Progress) {
	if s.caught.Load() || p.Err != nil {
		return
	}
	s.mu.Lock()
	if s.target == nil {
		s.target = new(p.Last)
	}
	caught := p.Position.Sequence >= *s.target
	s.mu.Unlock()
	if caught {
		s.caught.Store(true)
		s.wakeUp()
	}
}

func (s *settler) lastError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

func (s *settler) run(ctx context.Context) {
	retry := firstRetry
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
		again, err := s.round(ctx)
		if ctx.Err() != nil {
			return
		}
		s.report(ctx, err)
		switch {
		case err != nil:
			timer.Reset(retry)
			retry = min(2*retry, maxRetry)
		case again > 0:
			timer.Reset(again)
			retry = firstRetry
		default:
			retry = firstRetry
		}
	}
}

// call runs do, which calls the backend. Without an answer within limit, the error wraps
// ErrUnavailable. With noTimeout, do has its own deadlines.
func (s *settler) call(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	s.mu.Lock()
	if s.since.IsZero() {
		s.since = time.Now()
	}
	s.mu.Unlock()
	if limit == noTimeout {
		return do(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := do(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("no answer within %v: %w", limit, beads.ErrUnavailable)
	}
	return err
}

// noteAccepted records that the backend accepted a change, and whether it was the last pending
// one.
func (s *settler) noteAccepted(all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = time.Now()
	if all {
		s.since = time.Time{}
	}
}

func (s *settler) report(ctx context.Context, err error) {
	s.mu.Lock()
	before := s.failed
	s.failed = err
	s.mu.Unlock()
	switch {
	case err != nil:
		s.logger.WarnContext(ctx, "settling issues failed", "error", err)
	case before != nil:
		s.logger.InfoContext(ctx, "settling issues resumed")
	}
}

// finish settles and exports all effects, and retries until ctx ends. It publishes decisions if
// all messages from before the start are read, which drained asserts.
func (s *settler) finish(ctx context.Context, drained bool) error {
	if drained {
		s.caught.Store(true)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for retry := firstRetry; ; retry = min(2*retry, maxRetry) {
		_, err := s.round(ctx)
		if err == nil {
			err = s.call(ctx, noTimeout, s.backend.Export)
		}
		if err == nil {
			s.noteAccepted(true)
			return nil // no scrub: closing the database empties its log
		}
		if ctx.Err() == nil {
			s.report(ctx, err)
		}
		timer.Reset(retry)
		select {
		case <-ctx.Done():
			return fmt.Errorf("settle: %w", errors.Join(err, context.Cause(ctx)))
		case <-timer.C:
		}
	}
}

// round settles effects, publishes decisions and exports. A failure of one step does not affect
// the others, because its cause may be one workspace. During the pause after an export, round
// returns the rest of the pause instead of exporting.
func (s *settler) round(ctx context.Context) (again time.Duration, err error) {
	settled := s.settle(ctx)
	if settled != nil {
		err = fmt.Errorf("settle: %w", settled)
	}
	if s.caught.Load() && ctx.Err() == nil {
		if e := inRounds(ctx, s.publish); e != nil {
			err = errors.Join(err, fmt.Errorf("publish: %w", e))
		}
	}
	if ctx.Err() != nil {
		return 0, errors.Join(err, ctx.Err())
	}
	erased := s.scrub.Swap(false)
	if wait := time.Until(s.exported.Add(min(exportPause*s.cost, maxExportPause))); wait > 0 && !erased && !s.scrubAgain {
		if settled == nil {
			s.noteAccepted(true)
		}
		return wait, err
	}
	e := s.export(ctx, erased)
	if e == nil && settled == nil {
		s.noteAccepted(true)
	}
	return 0, errors.Join(err, e)
}

// export updates the workspaces. After an erasure it then scrubs the database, which contains
// their old texts. If a workspace fails, export scrubs at once, and again when all are up to
// date.
func (s *settler) export(ctx context.Context, erased bool) error {
	began := time.Now()
	err := s.call(ctx, noTimeout, s.backend.Export)
	s.exported = time.Now()
	s.cost = s.exported.Sub(began)
	if !erased && (!s.scrubAgain || err != nil) {
		return err
	}
	s.scrubAgain = err != nil
	if e := s.db.Scrub(ctx); e != nil {
		s.scrub.Store(true)
		err = errors.Join(err, fmt.Errorf("erase: %w", e))
	}
	return err
}

func inRounds(ctx context.Context, do func(context.Context) (int, error)) error {
	for {
		if n, err := do(ctx); err != nil || n < roundSize {
			return err
		}
	}
}
