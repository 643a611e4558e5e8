package auditor

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
)

// Only one goroutine may call the methods of a projector.
type projector struct {
	opts    Options
	ledgers *ledgers
	tracker *streamTracker
	resumed resumption
	started bool // the first batch was applied
}

func newProjector(o Options, l *ledgers, at resumption) *projector {
	return &projector{
		opts: o, ledgers: l, resumed: at,
		tracker: &streamTracker{stream: at.stream, at: at.start.Sequence},
	}
}

// Position implements [consume.Projection].
func (p *projector) Position(ctx context.Context) (consume.Position, error) {
	if !p.started {
		return p.resumed.start, nil
	}
	return p.ledgers.state.db.Position(ctx)
}

// Apply implements [consume.Projection].
func (p *projector) Apply(ctx context.Context, messages []consume.Message, next consume.Position) error {
	b := p.ledgers.begin()
	defer b.end()
	stream, isNew := p.tracker.streamOf(next)
	if isNew {
		at := ledger.Position{Epoch: stream.Epoch, Stream: stream.Created}
		if len(messages) == 0 { // both streams have the same messages up to next
			at.Sequence, at.Hash = next.Sequence, next.Hash
		}
		if err := p.recordBreak(ctx, b, at); err != nil {
			return err
		}
	}
	if err := p.write(ctx, b, stream, messages, p.tracker.holesUntil(next)); err != nil {
		return err
	}
	if err := b.commit(ctx, stream, next); err != nil {
		return err
	}
	p.tracker.committed(stream, next)
	p.started = true
	return nil
}

func (p *projector) write(
	ctx context.Context, b *batch, stream ledger.Stream, messages []consume.Message, holes []consume.Gap,
) error {
	if len(holes) > 2 { // each record of a hole costs a commit in every ledger
		holes = []consume.Gap{holes[0], holes[len(holes)-1]}
	}
	for _, h := range holes {
		i, _ := slices.BinarySearchFunc(messages, h.First, func(m consume.Message, first uint64) int {
			return cmp.Compare(m.Sequence, first)
		})
		if err := b.write(ctx, stream, messages[:i]); err != nil {
			return err
		}
		at := ledger.Position{Epoch: stream.Epoch, Stream: stream.Created, Sequence: h.Last}
		if err := p.recordBreak(ctx, b, at); err != nil {
			return err
		}
		messages = messages[i:]
	}
	return b.write(ctx, stream, messages)
}

// recordBreak records in every ledger that the stream lost messages, because the lost messages
// could belong to any tenant.
func (p *projector) recordBreak(ctx context.Context, b *batch, at ledger.Position) error {
	if err := p.ledgers.awaitAll(ctx); err != nil {
		return err
	}
	var signed atomic.Int64
	err := b.each(ctx, p.ledgers.tenants(ctx), func(tenant string, l *writer.Ledger) (ledgerPosition, *backlog, error) {
		if l == nil {
			return ledgerPosition{}, nil, nil
		}
		before := l.Newest()
		if err := l.Break(ctx, at); err != nil || l.Newest().Number == before.Number {
			return ledgerPosition{}, nil, err
		}
		p.opts.Logger.ErrorContext(ctx, "stream broken, messages may be missing",
			"tenant", tenant, "read", before.Position.Sequence, "continues_after", at.Sequence)
		signed.Add(1)
		return positionOf(l), nil, nil
	})
	if err == nil && signed.Load() > 0 {
		p.tracker.lost(at.Sequence)
	}
	return err
}

func (p *projector) streamChanged(reason string) error {
	p.opts.Logger.Error("stream replaced or rolled back, ledgers continue after the last common message", "reason", reason)
	p.tracker.replaced(reason)
	return nil
}
