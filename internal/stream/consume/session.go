package consume

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const fetches = 4

var errDisconnected = errors.New("broker connection lost")

func (l *loop) session(ctx context.Context, status <-chan nats.Status) error {
	discard(status)
	if !l.js.Conn().IsConnected() {
		return errDisconnected
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	refused := l.watchRefusals()
	wg.Go(func() {
		if err := refused.wait(ctx); err != nil {
			cancel(err)
		}
	})
	wg.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case s := <-status:
				if s != nats.CONNECTED {
					cancel(errDisconnected)
				}
			}
		}
	})
	err := causeOf(ctx, l.read(ctx))
	cancel(nil)
	wg.Wait()
	return err
}

func causeOf(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if errors.Is(err, context.Canceled) && (errors.Is(cause, errDisconnected) || errors.Is(cause, broker.ErrPermission)) {
		return cause
	}
	return err
}

func (l *loop) read(ctx context.Context) error {
	pos, err := l.p.Position(ctx)
	if err != nil {
		return fmt.Errorf("position: %w", err)
	}
	l.pos = pos
	stream, err := l.open(ctx)
	if err != nil {
		return err
	}
	if err := l.identify(ctx, stream); err != nil {
		return err
	}
	if err := l.check(ctx, stream); err != nil {
		return err
	}
	consumer, err := l.attach(ctx)
	if err != nil {
		return err
	}
	for {
		if err := l.fetch(ctx, stream, consumer); err != nil {
			return err
		}
	}
}

func discard(status <-chan nats.Status) {
	for {
		select {
		case <-status:
		default:
			return
		}
	}
}

// open disables direct reads, because a replica may lag behind the stream's leader.
func (l *loop) open(ctx context.Context) (jetstream.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	stream, err := l.js.Stream(ctx, l.opts.Space.EventStream())
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", l.opts.Space.EventStream(), err)
	}
	stream.CachedInfo().Config.AllowDirect = false
	return stream, nil
}

func (l *loop) identify(ctx context.Context, stream jetstream.Stream) error {
	info := stream.CachedInfo()
	l.created = info.Created.UTC()
	at := l.pos
	if at.Sequence == 0 && at.Stream.IsZero() {
		l.pos.Stream = l.created
		if at = l.opts.Expected; at.Sequence == 0 {
			return nil
		}
	}
	reason, err := l.difference(ctx, stream, at)
	if err != nil || reason == "" {
		return err
	}
	l.log.WarnContext(ctx, "stream changed", "reason", reason, "position", l.pos.Sequence)
	if err := l.opts.OnStreamChanged(reason); err != nil {
		return stopError{err}
	}
	common, err := l.lastCommon(ctx, stream)
	if err != nil {
		return err
	}
	l.draining = false // the target was a sequence of the old stream
	return l.commit(ctx, nil, common)
}

func (l *loop) difference(ctx context.Context, stream jetstream.Stream, at Position) (reason string, err error) {
	info := stream.CachedInfo()
	switch {
	case !l.created.Equal(at.Stream):
		return fmt.Sprintf("it was created at %s, the one before at %s",
			l.created.Format(timeFormat), at.Stream.Format(timeFormat)), nil
	case at.Sequence > info.State.LastSeq:
		return fmt.Sprintf("it ends at %d, and %d was read before", info.State.LastSeq, at.Sequence), nil
	case at.Sequence == 0 || at.Sequence < info.State.FirstSeq:
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	msg, err := stream.GetMsg(ctx, at.Sequence)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound) && at.Hash == events.Hash{}:
		return "", nil // already missing when passTail passed it
	case errors.Is(err, jetstream.ErrMsgNotFound):
		l.log.WarnContext(ctx, "message deleted after it was read", "sequence", at.Sequence)
		l.opts.OnGap(Gap{First: at.Sequence, Last: at.Sequence})
		return "", nil
	case err != nil:
		return "", fmt.Errorf("message %d: %w", at.Sequence, err)
	case events.HashOf(msg.Data) != at.Hash:
		return fmt.Sprintf("message %d is another one than was read before", at.Sequence), nil
	}
	return "", nil
}

const timeFormat = "2006-01-02T15:04:05.000000000Z07:00"

func (l *loop) attach(ctx context.Context) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	name := l.opts.Space.EventStream()
	config := jetstream.ConsumerConfig{
		Durable:        l.durable,
		FilterSubjects: l.filters,
		DeliverPolicy:  jetstream.DeliverAllPolicy,
		// AckAll costs the server half the CPU time that acknowledging each message costs.
		AckPolicy:     jetstream.AckAllPolicy,
		AckWait:       l.opts.AckWait,
		MaxDeliver:    -1,
		MaxAckPending: 2 * fetches * l.opts.Batch,
	}
	consumer, err := l.js.CreateOrUpdateConsumer(ctx, name, config)
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeConsumerCreate {
		// The server refused to change the consumer, so create it again. Nothing is lost, because
		// the projection stores the position.
		if err := l.js.DeleteConsumer(ctx, name, l.durable); err != nil {
			return nil, fmt.Errorf("replace durable %s: %w", l.durable, err)
		}
		consumer, err = l.js.CreateOrUpdateConsumer(ctx, name, config)
	}
	if err != nil {
		return nil, fmt.Errorf("durable %s: %w", l.durable, err)
	}
	if _, err := l.js.ResetConsumerToSequence(ctx, name, l.durable, l.pos.Sequence+1); err != nil {
		return nil, fmt.Errorf("reset durable %s to %d: %w", l.durable, l.pos.Sequence+1, err)
	}
	l.delivered, l.stalled = 0, 0
	return consumer, nil
}

func (l *loop) next(ctx context.Context, stream jetstream.Stream, seq uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	filters := l.filters
	if filters == nil {
		filters = []string{">"}
	}
	var found uint64
	for _, f := range filters {
		msg, err := stream.GetMsg(ctx, seq+1, jetstream.WithGetMsgSubject(f))
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
		case err != nil:
			return 0, fmt.Errorf("look up the message after %d: %w", seq, err)
		case found == 0 || msg.Sequence < found:
			found = msg.Sequence
		}
	}
	return found, nil
}

func (l *loop) check(ctx context.Context, stream jetstream.Stream) error {
	state := stream.CachedInfo().State
	l.progress.Last = state.LastSeq
	if l.opts.Drain && !l.draining {
		l.draining, l.progress.Target = true, state.LastSeq
	}
	next, err := l.pending(ctx, stream, state.LastSeq)
	if err != nil {
		return err
	}
	switch {
	case next == 0:
		l.progress.Lag = 0
	case l.filters == nil:
		l.progress.Lag = state.LastSeq - next + 1
	default:
		l.progress.Lag = max(l.progress.Lag, 1)
	}
	l.report(nil)
	if l.drained() || l.draining && (next == 0 || next > l.progress.Target) {
		return errDrained
	}
	return nil
}

func (l *loop) drained() bool { return l.draining && l.pos.Sequence >= l.progress.Target }
