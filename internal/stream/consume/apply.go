package consume

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

func (l *loop) apply(ctx context.Context, b *batch) error {
	if b.end == nil {
		return nil
	}
	for _, p := range b.poisoned {
		if err := l.deadLetter(ctx, b, p); err != nil {
			return err
		}
	}
	if err := l.commit(ctx, b, b.position()); err != nil {
		return err
	}
	l.progress.Done += uint64(len(b.messages))
	l.progress.Last = max(l.progress.Last, b.last+b.pending)
	l.progress.Lag = b.pending
	if l.filters == nil {
		l.progress.Lag = l.progress.Last - b.last
	}
	l.report(nil)
	// A lost acknowledgement does no harm, because Run later sets the consumer to a position after
	// these messages.
	for i, msg := range b.dead {
		if err := msg.TermWithReason(b.reasons[i]); err != nil {
			return fmt.Errorf("terminate: %w", err)
		}
	}
	if err := b.end.Ack(); err != nil && !errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
		return fmt.Errorf("acknowledge: %w", err)
	}
	return nil
}

func (l *loop) commit(ctx context.Context, b *batch, next Position) error {
	for failures := 0; ; failures++ {
		var messages []Message
		if b != nil {
			messages = b.messages
		}
		err := l.p.Apply(l.work, messages, next) //nolint:contextcheck // it outlives ctx by StopTimeout
		if err == nil {
			l.pos = next
			return nil
		}
		var poison *Poison
		if b != nil && errors.As(err, &poison) {
			if err := l.deadLetter(ctx, b, poison); err != nil {
				return err
			}
			failures = -1
			continue
		}
		done, moved := l.hasCommitted(next)
		if done {
			l.pos = next
			return nil
		}
		err = fmt.Errorf("apply up to message %d: %w", next.Sequence, err)
		if moved != nil {
			return errors.Join(err, moved)
		}
		l.log.WarnContext(ctx, "batch not applied", "error", err, "failures", failures+1)
		l.countUncommitted(b)
		l.report(err)
		if !pause(backoff(retryFirst, l.opts.RetryMax, failures), ctx.Done()) {
			return err
		}
	}
}

func (l *loop) countUncommitted(b *batch) {
	if b == nil {
		return
	}
	l.progress.Last = max(l.progress.Last, b.last+b.pending)
	l.progress.Lag = uint64(len(b.messages)) + b.pending
	if l.filters == nil {
		l.progress.Lag = l.progress.Last - l.pos.Sequence
	}
}

func (l *loop) hasCommitted(next Position) (done bool, moved error) {
	pos, err := l.p.Position(l.work)
	switch {
	case err != nil:
		return false, nil //nolint:nilerr // the next Apply reports it
	case pos.Equal(next):
		return true, nil
	case pos.Sequence != l.pos.Sequence:
		return false, fmt.Errorf("its position is %d, neither %d nor %d", pos.Sequence, l.pos.Sequence, next.Sequence)
	}
	return false, nil
}
