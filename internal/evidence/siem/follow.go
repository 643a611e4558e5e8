package siem

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

const (
	batchRecords = 256
	poll         = 500 * time.Millisecond
	firstPause   = time.Second
	maxPause     = time.Minute
)

// ErrOther means that the ledger has no record that matches the stored position, because the
// ledger was replaced or is an older copy.
var ErrOther = errors.New("the ledger does not continue the stored position: it was replaced or is an older copy; " +
	"remove the position to send it from its beginning")

// Options are the settings of [Follow].
type Options struct {
	Ledger   *ledger.Reader
	Format   bundle.Format // [bundle.JSONL] or [bundle.OCSF]
	Open     func(context.Context) (Sink, error)
	Position string // path of the stored position
	Once     bool   // do not wait at the end of the ledger
	Logger   *slog.Logger
}

// A Sink sends records to a receiver. Only one goroutine calls Send and Flush.
type Sink interface {
	// Send may buffer the record.
	Send(e ledger.Entry, line []byte) error
	// Flush waits until the receiver has all records.
	Flush(ctx context.Context) error
	// Close may be called twice and while another method runs.
	Close() error
}

// Follow sends the records after the stored position until ctx ends, and then returns nil. If the
// sink fails, it is opened again. An unreadable ledger is an error.
func Follow(ctx context.Context, o Options) error {
	at, err := readPosition(o.Position)
	if err == nil {
		err = o.Ledger.CheckLeaves(ctx)
	}
	if err == nil {
		err = at.check(ctx, o.Ledger)
	}
	if err != nil {
		return err
	}
	f := &follower{Options: o, at: at}
	for pause := firstPause; ; {
		before := f.at.Leaf
		err := f.connected(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // a stop is clean
		}
		var lost *sinkError
		if !errors.As(err, &lost) {
			return err
		}
		if f.at.Leaf > before {
			pause = firstPause
		}
		o.Logger.WarnContext(ctx, "receiver of records not reached", "error", lost.err, "retry_after", pause.String(), "next_leaf", f.at.Leaf+1)
		if !sleep(ctx, pause) {
			return nil
		}
		pause = min(2*pause, maxPause)
	}
}

type sinkError struct{ err error }

func (e *sinkError) Error() string { return e.err.Error() }

type follower struct {
	Options

	at position
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (f *follower) connected(ctx context.Context) (err error) {
	s, err := f.Open(ctx)
	if err != nil {
		return &sinkError{err}
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() }) // unblocks a waiting write
	defer func() {
		stop()
		if failed := s.Close(); failed != nil && err == nil {
			err = &sinkError{failed}
		}
	}()
	for {
		n, err := f.batch(ctx, s)
		if err != nil {
			return err
		}
		if n == 0 && (f.Once || !sleep(ctx, poll)) {
			return nil
		}
	}
}

func (f *follower) batch(ctx context.Context, s Sink) (n int, err error) {
	next := f.at
	var line []byte
	for e, err := range f.records(ctx) {
		if err != nil {
			return 0, err
		}
		if line, err = bundle.AppendLine(line[:0], f.Format, f.Ledger.Tenant(), e); err != nil {
			return 0, err
		}
		if err := s.Send(e, line); err != nil {
			return 0, &sinkError{fmt.Errorf("send leaf %d: %w", e.Leaf, err)}
		}
		next.Leaf, next.SHA256 = e.Leaf, e.Hash.String()
		if n++; n == batchRecords {
			break
		}
	}
	if n == 0 {
		return 0, nil
	}
	if err := s.Flush(ctx); err != nil {
		return 0, &sinkError{fmt.Errorf("send up to leaf %d: %w", next.Leaf, err)}
	}
	if err := next.write(f.Position); err != nil {
		return 0, err
	}
	f.at = next
	return n, nil
}

func (f *follower) records(ctx context.Context) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		newest, err := f.Ledger.Newest(ctx)
		if err != nil {
			yield(ledger.Entry{}, err)
			return
		}
		next := f.at.Leaf + 1
		for e, err := range f.Ledger.After(ctx, f.at.Leaf) {
			if err == nil && e.Leaf > next {
				break
			}
			if next = e.Leaf + 1; !yield(e, err) || err != nil {
				return
			}
		}
		if next < newest.Size {
			yield(ledger.Entry{}, ledger.MissingLeaf(next))
		}
	}
}
