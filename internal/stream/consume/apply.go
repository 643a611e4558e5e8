package consume

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// apply has the batch applied and acknowledges it. Only then is it done: a
// crash in between repeats it, and the position tells that it was done.
func (l *loop) apply(ctx context.Context, in *inbox) error {
	if in.end == nil {
		return nil
	}
	for _, p := range in.poisoned {
		if err := l.bury(ctx, in, p); err != nil {
			return err
		}
	}
	if err := l.commit(ctx, in, in.position()); err != nil {
		return err
	}
	l.progress.Done += uint64(len(in.messages))
	l.progress.Last = max(l.progress.Last, in.last+in.pending)
	l.progress.Lag = in.pending
	if l.filters == nil {
		l.progress.Lag = l.progress.Last - in.last
	}
	l.report(nil)
	// Neither must arrive: the next reset says the same to the server.
	for i, msg := range in.dead {
		if err := msg.TermWithReason(in.reasons[i]); err != nil {
			return fmt.Errorf("terminate: %w", err)
		}
	}
	if err := in.end.Ack(); err != nil && !errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
		return fmt.Errorf("acknowledge: %w", err)
	}
	return nil
}

// commit has the projection apply what is in in, nil for nothing, until it
// works. When ctx ends between two tries it gives up; the try in hand gets
// StopTimeout.
func (l *loop) commit(ctx context.Context, in *inbox, next Position) error {
	for failures := 0; ; failures++ {
		var batch []Message
		if in != nil {
			batch = in.messages
		}
		err := l.p.Apply(l.work, batch, next) //nolint:contextcheck // it outlives ctx by StopTimeout
		if err == nil {
			l.pos = next
			return nil
		}
		var poison *Poison
		if in != nil && errors.As(err, &poison) {
			if err := l.bury(ctx, in, poison); err != nil {
				return err
			}
			failures = -1
			continue
		}
		done, moved := l.happened(next)
		if done {
			l.pos = next
			return nil
		}
		err = fmt.Errorf("apply up to message %d: %w", next.Sequence, err)
		if moved != nil {
			return errors.Join(err, moved)
		}
		l.log.WarnContext(ctx, "batch was not applied", "error", err, "failures", failures+1)
		l.report(err)
		if !pause(backoff(retryFirst, l.opts.RetryMax, failures), ctx.Done()) {
			return err
		}
	}
}

// happened asks the projection what became of a failed Apply: it can fail and
// have happened. The error says that it is somewhere else altogether.
func (l *loop) happened(next Position) (done bool, moved error) {
	pos, err := l.p.Position(l.work)
	switch {
	case err != nil:
		return false, nil //nolint:nilerr // it is not well: Apply will say so again
	case pos.Equal(next):
		return true, nil
	case pos.Sequence != l.pos.Sequence:
		return false, fmt.Errorf("its position is %d, neither %d nor %d", pos.Sequence, l.pos.Sequence, next.Sequence)
	}
	return false, nil
}
