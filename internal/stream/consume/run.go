package consume

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

const (
	requestTimeout = 5 * time.Second
	sessionFirst   = 10 * time.Millisecond
	sessionMost    = 5 * time.Second
	retryFirst     = 100 * time.Millisecond
	manyResets     = 5 // consecutive resets without progress that suggest a second reader
)

var errDrained = errors.New("drained")

type stopError struct{ err error }

func (e stopError) Error() string { return e.err.Error() }
func (e stopError) Unwrap() error { return e.err }

// Only one goroutine uses a loop.
type loop struct {
	opts    Options
	js      jetstream.JetStream
	p       Projection
	log     *slog.Logger
	durable string
	letters string
	filters []string // subjects of the tenant; nil to read all messages

	work context.Context //nolint:containedctx // outlives the context of Run by StopTimeout, for the current batch

	pos       Position
	created   time.Time // creation time of the stream in this session
	draining  bool
	progress  Progress
	delivered uint64 // deliveries since the last reset
	stalled   int    // consecutive checks that found undelivered messages
	resets    int
}

// Run reads the stream and applies its messages to p. It returns nil when ctx ends. With
// [Options.Drain], it returns after the last message that existed when Run was called.
//
// While the broker is unavailable or rights are missing, Run waits and reports the error through
// Progress. With Drain, missing rights are an error.
func Run(ctx context.Context, js jetstream.JetStream, opts Options, p Projection) error {
	l, err := newLoop(js, opts.withDefaults(), p)
	if err != nil {
		return err
	}
	stopped, stop := context.WithCancel(ctx)
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		<-stopped.Done()
		if ctx.Err() != nil {
			pause(l.opts.StopTimeout, work.Done())
		}
		cancel()
	})
	l.work = work
	err = l.run(ctx)
	// Without cancel, the goroutine would still pause for StopTimeout after the end of ctx.
	cancel()
	stop()
	wg.Wait()
	return err
}

func newLoop(js jetstream.JetStream, opts Options, p Projection) (*loop, error) {
	l := &loop{opts: opts, js: js, p: p}
	var err error
	if l.durable, err = opts.Space.Durable(opts.Durable, opts.Tenant); err != nil {
		return nil, fmt.Errorf("consume: %w", err)
	}
	if l.letters, err = opts.Space.DeadLetter(opts.Durable); err != nil {
		return nil, fmt.Errorf("consume: %w", err)
	}
	if opts.Tenant != "" {
		if l.filters, err = opts.Space.Tenant(opts.Tenant); err != nil {
			return nil, fmt.Errorf("consume: %w", err)
		}
	}
	l.log = opts.Logger.With("consumer", l.durable)
	return l, nil
}

func (l *loop) run(ctx context.Context) error {
	status := l.js.Conn().StatusChanged(nats.CONNECTED, nats.RECONNECTING, nats.CLOSED)
	defer l.js.Conn().RemoveStatusListener(status)
	failures := 0
	for {
		before := l.progress.Done
		err := l.session(ctx, status)
		var stop stopError
		switch {
		case errors.Is(err, errDrained):
			return nil
		case errors.As(err, &stop):
			return stop.err
		case l.opts.Drain && errors.Is(err, broker.ErrPermission):
			return fmt.Errorf("drain %s: %w", l.durable, err)
		case ctx.Err() != nil && l.opts.Drain:
			return fmt.Errorf("drain %s: %w", l.durable, ctx.Err())
		case ctx.Err() != nil:
			return nil
		case l.js.Conn().IsClosed():
			return fmt.Errorf("consume %s: %w", l.durable, nats.ErrConnectionClosed)
		}
		if l.progress.Done > before {
			failures, l.resets = 0, 0
		}
		l.failed(ctx, err)
		l.waitForBroker(ctx, status, backoff(sessionFirst, sessionMost, failures))
		failures++
	}
}

func (l *loop) failed(ctx context.Context, err error) {
	level := slog.LevelWarn
	if _, ok := errors.AsType[*skipError](err); ok {
		l.resets++
		if l.resets < manyResets {
			level = slog.LevelDebug
		} else {
			err = fmt.Errorf("%w; is another process reading the durable %s?", err, l.durable)
		}
	}
	if errors.Is(err, broker.ErrPermission) {
		level = slog.LevelError // only an operator can fix it
	}
	if errors.Is(err, errDisconnected) {
		level = slog.LevelInfo // the owner of the connection logs it
	}
	l.log.Log(ctx, level, "reading interrupted", "error", err, "position", l.pos.Sequence)
	if level >= slog.LevelInfo {
		l.report(err)
	}
}

func (l *loop) waitForBroker(ctx context.Context, status <-chan nats.Status, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-status:
			if s == nats.CONNECTED || s == nats.CLOSED {
				return
			}
		case <-timer.C:
			if nc := l.js.Conn(); nc.IsConnected() || nc.IsClosed() {
				return
			}
			timer.Reset(time.Second) // a change of status may have been missed
		}
	}
}

func backoff(first, most time.Duration, failures int) time.Duration {
	d := most
	if failures < 16 {
		d = min(most, first<<failures)
	}
	return d/2 + rand.N(d/2+1) //nolint:gosec // jitter is no secret
}

func pause(d time.Duration, done <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-done:
		return false
	}
}

func (l *loop) report(err error) {
	l.progress.Position = l.pos
	l.progress.Err = err
	l.opts.Progress(l.progress)
}
