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
	roundSize      = 500 // effects or decisions per transaction
	firstRetry     = 200 * time.Millisecond
	maxRetry       = 10 * time.Second
	callTimeout    = 30 * time.Second
	exportPause    = 20
	maxExportPause = 10 * time.Second
	noTimeout      = time.Duration(0)
)

type settler struct {
	db      *projection.DB
	backend backend
	outbox  outbox
	logger  *slog.Logger
	stage   func(string)

	wake   chan struct{} // capacity 1
	caught atomic.Bool   // all messages up to target have been read
	scrub  atomic.Bool   // the write-ahead log may contain erased texts

	// Only the goroutine of run uses the following fields.
	scrubAgain bool      // scrub again after an export without a failed workspace
	exported   time.Time // when the latest export ended
	cost       time.Duration

	mu     sync.Mutex // guards target, failed and since. Holders take no other lock
	target *uint64    // last sequence of the stream at the start, or nil if unknown
	failed error
	since  time.Time // last time when the backend accepted a change, or zero without pending changes
}

type outbox interface {
	// Append stores the event durably. If an event with the same id is stored already, it returns
	// [publish.ErrDuplicate].
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
			return nil // no scrub, because closing the database empties the write-ahead log
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

func (s *settler) round(ctx context.Context) (again time.Duration, err error) {
	due, err := s.answers(ctx)
	if err != nil {
		return 0, err
	}
	settled := s.settle(ctx) // includes the effects of the orders in due
	if settled != nil {
		err = fmt.Errorf("settle: %w", settled)
	}
	if e := s.publishCaught(ctx); e != nil {
		err = errors.Join(err, fmt.Errorf("publish: %w", e))
	}
	if ctx.Err() != nil {
		return 0, errors.Join(err, ctx.Err())
	}
	erased := s.scrub.Swap(false) || len(due) > 0
	if wait := time.Until(s.exported.Add(min(exportPause*s.cost, maxExportPause))); wait > 0 && !erased && !s.scrubAgain {
		if settled == nil {
			s.noteAccepted(true)
		}
		return wait, err
	}
	return 0, errors.Join(err, s.exportAndSend(ctx, erased, settled == nil, due))
}

func (s *settler) publishCaught(ctx context.Context) error {
	if s.caught.Load() && ctx.Err() == nil {
		return inRounds(ctx, s.publish)
	}
	return nil
}

// exportAndSend sends answers only if all changes of issues are complete, because pending changes
// may contain erased texts.
func (s *settler) exportAndSend(ctx context.Context, erased, settled bool, due []answer) error {
	if err := s.export(ctx, erased); err != nil || !settled {
		return err
	}
	s.noteAccepted(true)
	return s.send(ctx, due)
}

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
