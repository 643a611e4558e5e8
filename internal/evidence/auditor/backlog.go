package auditor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
)

const (
	maxBacklogBytes = batchBytes + 16<<20

	maxBacklogs = 16               // each needs file descriptors and a goroutine
	patience    = time.Second      // a ledger gets a backlog if a batch takes longer
	busyPause   = time.Second / 10 // pause between attempts to write a locked file
	slowWrite   = 10 * time.Second // readiness reports a ledger that takes longer
)

var errDetached = fmt.Errorf("the ledger already has a backlog: %w", writer.ErrScrubLater)

// A backlog queues messages for a slow ledger, so that other tenants need not wait. After a crash,
// the stream delivers the queued messages again.
type backlog struct {
	ledger *writer.Ledger
	append func(context.Context, *writer.Ledger, queued) error
	since  time.Time
	scrub  bool          // exists because of a scrub
	done   chan struct{} // closed when the goroutine no longer uses the ledger

	scrubErr error // valid after done is closed

	// mu guards queue, bytes and busy.
	mu    sync.Mutex
	queue []queued
	bytes int
	busy  error // why the current write takes long
}

type queued struct {
	stream   ledger.Stream
	messages []ledger.Message
	bytes    int
}

func newQueued(stream ledger.Stream, messages []ledger.Message) queued {
	q := queued{stream: stream, messages: messages}
	for _, m := range messages {
		q.bytes += len(m.Data)
	}
	return q
}

func (q queued) target(tenant string) ledgerPosition {
	return ledgerPosition{tenant: tenant, epoch: q.stream.Epoch, sequence: q.messages[len(q.messages)-1].Sequence}
}

func (b *backlog) add(q queued) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isDone() {
		return false
	}
	b.queue, b.bytes = append(b.queue, q), b.bytes+q.bytes
	return true
}

// first closes done under the same lock, so that add cannot queue a message that is never written.
func (b *backlog) first() (queued, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		close(b.done)
		return queued{}, false
	}
	return b.queue[0], true
}

func (b *backlog) removeFirst() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes -= b.queue[0].bytes
	b.queue = b.queue[1:]
}

func (b *backlog) size() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes
}

func (b *backlog) messages() (n uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range b.queue {
		n += uint64(len(q.messages))
	}
	return n
}

func (b *backlog) isDone() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

// After an error, messages can be left in the queue. The caller must write them with flush.
func (b *backlog) run(ctx context.Context) error {
	for {
		q, ok := b.first()
		if !ok {
			return nil
		}
		err := b.append(ctx, b.ledger, q)
		switch {
		case err == nil:
			b.removeFirst()
		case ctx.Err() == nil && sqlite.ErrCode(err).ToPrimary() == sqlite.ResultBusy:
			b.mu.Lock()
			b.busy = err
			b.mu.Unlock()
			pause(ctx, busyPause)
		default:
			b.mu.Lock()
			defer b.mu.Unlock()
			close(b.done)
			return err
		}
	}
}

// flush must not be called before done is closed. Until then, the backlog's goroutine uses the
// ledger.
func (b *backlog) flush(ctx context.Context) error {
	for len(b.queue) > 0 {
		if err := b.append(ctx, b.ledger, b.queue[0]); err != nil {
			return err
		}
		b.removeFirst()
	}
	return nil
}

func (b *backlog) slow() error {
	took := time.Since(b.since)
	if b.scrub || took <= slowWrite {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	cause := b.busy
	if cause == nil {
		cause = errors.New("the disk is slow, or another process has locked the file")
	}
	return fmt.Errorf("messages of tenant %q have waited for the ledger for %s, other tenants are not affected: %w",
		b.ledger.Tenant(), took.Round(time.Second), cause)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
