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
	countLimit   = 3 * time.Second // at least
)

// Options are the settings of [Ask].
type Options struct {
	Tenant string
	Ledger *ledger.Reader // of the tenant

	DataDir string // with the outboxes; empty means none

	JetStream jetstream.JetStream // nil means that the stream is not asked
	NotAsked  string              // why it is nil
	Space     subjects.Space

	// Wait limits the time to wait for the ledger, and the time to count. Written reports whether an auditor
	// writes to it. Without one there is nothing to wait for.
	Wait    time.Duration
	Written bool

	Progress func(done, total uint64) // in stream sequences; may be nil
}

// Question has the events of a tenant that existed at one moment.
type Question struct {
	opts     Options
	outboxes outboxes
	end      *streamEnd // nil if the stream was not asked
	notAsked string
}

// Ask notes which events exist, and waits until they are in the ledger or the time is up.
// A broker that does not answer is not an error, because a verification does not need one.
func Ask(ctx context.Context, o Options) *Question {
	if o.Progress == nil {
		o.Progress = func(uint64, uint64) {}
	}
	q := &Question{opts: o, outboxes: inspect(o), notAsked: o.NotAsked}
	deadline := time.Now().Add(o.Wait)
	q.outboxes.await(ctx, deadline)
	if o.JetStream == nil {
		return q
	}
	end, err := askStream(ctx, o)
	if err != nil {
		q.notAsked = err.Error()
		return q
	}
	q.end = end
	q.awaitLedger(ctx, deadline)
	return q
}

// awaitLedger ends early after an error, which the verification or Answer finds again.
func (q *Question) awaitLedger(ctx context.Context, deadline time.Time) {
	for asked := (ledger.Position{}); ; {
		c, err := q.opts.Ledger.Newest(ctx)
		if err != nil {
			return
		}
		q.opts.Progress(min(c.Position.Sequence, q.end.last), q.end.last)
		if at := c.Position; at != asked || at == (ledger.Position{}) {
			asked = at
			if lacks, err := q.end.lacks(ctx, at); err != nil || !lacks {
				return
			}
		}
		if !q.opts.Written || !pause(ctx, deadline) {
			return
		}
	}
}

// pause returns false after the deadline.
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

// Answer counts the events of the question that a ledger with this checkpoint lacks.
func (q *Question) Answer(ctx context.Context, c ledger.Checkpoint) verifier.AsOf {
	a := verifier.AsOfCheckpoint(c)
	a.NotAsked = q.notAsked
	a.Missing = q.outboxes.missing(q.opts.DataDir)
	a.Outboxes, a.Unread = q.outboxes.waiting()
	if q.end == nil {
		return a
	}
	later, err := q.end.later(ctx, c.Position)
	if err != nil && !later.Any() {
		a.NotAsked = err.Error()
		return a
	}
	a.Later = &later
	return a
}
