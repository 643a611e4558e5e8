package asof

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

const (
	pollEvery    = 20 * time.Millisecond
	requestLimit = 5 * time.Second
	countLimit   = 3 * time.Second // at least; o.Wait may be longer
)

// Options are the settings of [Ask].
type Options struct {
	Tenant string
	Ledger *ledger.Reader // of the tenant

	DataDir string // with the outboxes; empty if there are none

	JetStream jetstream.JetStream // nil skips the stream
	NotAsked  string              // why JetStream is nil
	Space     subjects.Space

	// Wait limits how long [Ask] waits for the ledger. [Ask] only waits if Written is true, which
	// means that an auditor is writing.
	Wait    time.Duration
	Written bool

	Progress func(done, total uint64) // in stream sequences; may be nil
}

// A Question stores how far the stream and the outboxes reached when [Ask] was called.
// [Question.Answer] compares a checkpoint with it.
type Question struct {
	opts     Options
	outboxes outboxes
	end      *streamEnd // nil if the stream was not asked
	notAsked string
}

// Ask records how far the stream and the outboxes reach now. It then waits for up to o.Wait, so
// that the ledger can receive these events.
func Ask(ctx context.Context, o Options) *Question {
	if o.Progress == nil {
		o.Progress = func(uint64, uint64) {}
	}
	q := &Question{opts: o, outboxes: inspect(o), notAsked: o.NotAsked}
	deadline := time.Now().Add(o.Wait)
	q.outboxes.await(ctx, deadline)
	if o.JetStream == nil {
		q.awaitWritten(ctx, deadline)
		return q
	}
	end, err := askStream(ctx, o)
	if err != nil {
		q.notAsked = err.Error()
		q.awaitWritten(ctx, deadline)
		return q
	}
	q.end = end
	q.awaitLedger(ctx, deadline)
	return q
}

func (q *Question) awaitLedger(ctx context.Context, deadline time.Time) {
	for asked := (ledger.Position{}); ; {
		c, err := q.opts.Ledger.Newest(ctx)
		if err != nil {
			return
		}
		q.opts.Progress(min(c.Position.Sequence, q.end.last), q.end.last)
		if at := c.Position; at != asked || at == (ledger.Position{}) {
			asked = at
			if lacks, err := q.end.lacks(ctx, at); err != nil || !lacks && !q.end.isOther(at) {
				return
			}
		}
		if !q.opts.Written || !pause(ctx, deadline) {
			return
		}
	}
}

func pause(ctx context.Context, deadline time.Time) bool {
	if !time.Now().Before(deadline) {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pollEvery):
		return true
	}
}

// Answer compares a checkpoint with the stream and the outboxes at the time of [Ask]. It counts
// the events that the checkpoint does not cover.
func (q *Question) Answer(ctx context.Context, c ledger.Checkpoint) verifier.AsOf {
	a := verifier.AsOfCheckpoint(c)
	a.NotAsked = q.notAsked
	a.Missing = q.outboxes.missing(q.opts.DataDir)
	a.Outboxes, a.Unread = q.outboxes.waiting()
	if q.end == nil {
		unwritten, err := q.outboxes.unwritten(ctx, q.opts.Ledger, c.Position)
		if err != nil {
			a.NotAsked += ", " + err.Error()
		}
		a.Unwritten = unwritten
		return a
	}
	a.OtherStream = q.end.isOther(c.Position)
	later, err := q.end.later(ctx, c.Position)
	if err != nil && !later.Any() {
		a.NotAsked = err.Error()
		return a
	}
	a.Later = &later
	return a
}
