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

// The pace of settling.
const (
	roundSize  = 500 // effects, or decisions, in one transaction
	retryFirst = 200 * time.Millisecond
	retryMost  = 10 * time.Second
	// callTimeout is how long a backend may take for one call: longer than bd gets.
	callTimeout = 30 * time.Second
	// An export writes whole files; at most this part of the time goes into it.
	exportShare = 20
	exportMost  = 10 * time.Second
)

// settler carries out what was decided: effects and publications. Its rounds
// belong to one goroutine, that of run and then that of finish.
type settler struct {
	db      *projection.DB
	backend backend
	outbox  outbox
	logger  *slog.Logger
	stage   func(string)

	wake   chan struct{} // holds one call for a round
	caught atomic.Bool   // the stream was read up to where it was at the start
	scrub  atomic.Bool   // something was erased: the log of the database may still have it
	owed   bool          // so it is again once all workspaces are up to date

	exported time.Time     // when, by this machine's clock
	cost     time.Duration // of the latest export

	mu     sync.Mutex // guards what follows
	target *uint64    // last sequence of the stream at the start; nil before it is known
	failed error      // of the latest round
	since  time.Time  // when the backend last took something while it was asked for more; zero: it has taken all
}

// outbox is where decisions are published.
type outbox interface {
	Append(ctx context.Context, e events.Event) (events.Event, error)
}

func newSettler(opts Options, db *projection.DB, box outbox) *settler {
	return &settler{
		db: db, backend: opts.backend, outbox: box, logger: opts.Logger, stage: opts.stage,
		wake: make(chan struct{}, 1),
	}
}

// hurry asks for a round. It never waits.
func (s *settler) hurry() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// reached takes in how far the stream was read. Decisions are published only
// once it was read as it stood at the start: what an earlier life of the tracker
// published is known then.
func (s *settler) reached(p consume.Progress) {
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
		s.hurry()
	}
}

// trouble returns why the latest round failed, nil if it did not.
func (s *settler) trouble() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// run has a round whenever it is asked to, and again after failures, until ctx
// ends.
func (s *settler) run(ctx context.Context) {
	retry := retryFirst
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
		s.note(ctx, err)
		switch {
		case err != nil:
			timer.Reset(retry)
			retry = min(2*retry, retryMost)
		case again > 0:
			timer.Reset(again)
			retry = retryFirst
		default:
			retry = retryFirst
		}
	}
}

// call asks the backend for something, which may take no longer than callTimeout.
// One that does not answer in time is unavailable.
func (s *settler) call(ctx context.Context, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := s.ask(limited, do)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("no answer within %v: %w", callTimeout, beads.ErrUnavailable)
	}
	return err
}

// ask is call of something that has deadlines of its own.
func (s *settler) ask(ctx context.Context, do func(context.Context) error) error {
	s.mu.Lock()
	if s.since.IsZero() {
		s.since = time.Now()
	}
	s.mu.Unlock()
	return do(ctx)
}

// moved notes that the backend took something, and whether that was all.
func (s *settler) moved(all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = time.Now()
	if all {
		s.since = time.Time{}
	}
}

// note keeps and logs the outcome of a round.
func (s *settler) note(ctx context.Context, err error) {
	s.mu.Lock()
	before := s.failed
	s.failed = err
	s.mu.Unlock()
	switch {
	case err != nil:
		s.logger.WarnContext(ctx, "issues wait to be settled", "error", err)
	case before != nil:
		s.logger.InfoContext(ctx, "issues are being settled again")
	}
}

// finish settles all that was decided, trying again until ctx ends. Published is
// what may be: after a drain, the stream was read as it stood at the start.
func (s *settler) finish(ctx context.Context, drained bool) error {
	if drained {
		s.caught.Store(true)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for retry := retryFirst; ; retry = min(2*retry, retryMost) {
		_, err := s.round(ctx)
		if err == nil {
			err = s.ask(ctx, s.backend.Export)
		}
		if err == nil {
			s.moved(true)
			return nil // closing the database empties its log
		}
		if ctx.Err() == nil {
			s.note(ctx, err)
		}
		timer.Reset(retry)
		select {
		case <-ctx.Done():
			return fmt.Errorf("settle: %w", errors.Join(err, context.Cause(ctx)))
		case <-timer.C:
		}
	}
}

// round settles effects, publishes decisions and exports: what keeps it from one of
// these keeps it not from the others, as it may be one tenant's. It exports unless
// exports take too much of the time: then it returns how long that has to wait.
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
	if wait := time.Until(s.exported.Add(min(exportShare*s.cost, exportMost))); wait > 0 && !erased && !s.owed {
		if settled == nil {
			s.moved(true)
		}
		return wait, err
	}
	e := s.export(ctx, erased)
	if e == nil && settled == nil {
		s.moved(true)
	}
	return 0, errors.Join(err, e)
}

// export brings the workspaces up to date, and then scrubs the database if that is
// asked for: it knows what they had. Where one cannot be brought up to date, that is
// done at once for what the others had, and again later.
func (s *settler) export(ctx context.Context, erased bool) error {
	began := time.Now()
	err := s.ask(ctx, s.backend.Export)
	s.exported = time.Now()
	s.cost = s.exported.Sub(began)
	if !erased && (!s.owed || err != nil) {
		return err
	}
	s.owed = err != nil
	if e := s.db.Scrub(ctx); e != nil {
		s.scrub.Store(true)
		err = errors.Join(err, fmt.Errorf("erase: %w", e))
	}
	return err
}

// inRounds calls do until it finds less than a full round to do.
func inRounds(ctx context.Context, do func(context.Context) (int, error)) error {
	for {
		if n, err := do(ctx); err != nil || n < roundSize {
			return err
		}
	}
}
