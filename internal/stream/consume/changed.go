package consume

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// common returns the position to go on from in a stream that changed: the latest
// one that was passed and at which the stream has the same message still, or its
// beginning.
func (l *loop) common(ctx context.Context, stream jetstream.Stream) (Position, error) {
	begin := Position{Stream: l.created}
	passed, err := l.opts.Passed(ctx)
	if err != nil {
		return begin, fmt.Errorf("positions that were passed: %w", err)
	}
	for _, p := range passed {
		if p.Sequence == 0 || p.Sequence > stream.CachedInfo().State.LastSeq {
			continue
		}
		same, err := holds(ctx, stream, p)
		if err != nil {
			return begin, err
		}
		if same {
			l.log.InfoContext(ctx, "the stream has messages in common with the one before", "last", p.Sequence)
			return Position{Sequence: p.Sequence, Stream: l.created, Hash: p.Hash}, nil
		}
	}
	return begin, nil
}

// holds reports whether the stream has the message that p is of.
func holds(ctx context.Context, stream jetstream.Stream, p Position) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	msg, err := stream.GetMsg(ctx, p.Sequence)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("message %d: %w", p.Sequence, err)
	}
	return events.HashOf(msg.Data) == p.Hash, nil
}

// ahead returns the sequence of the next message that is for us, up to last, or 0
// when there is none: then it has passed what is gone.
func (l *loop) ahead(ctx context.Context, stream jetstream.Stream, last uint64) (uint64, error) {
	if last <= l.pos.Sequence {
		return 0, nil
	}
	next, err := l.next(ctx, stream, l.pos.Sequence)
	if err == nil && next == 0 {
		err = l.passTail(ctx, stream, last)
	}
	return next, err
}

// passTail passes messages at the end of the stream, up to last, that are gone,
// so that none behind them can show the hole. A reader of one tenant cannot tell
// them from those of others.
func (l *loop) passTail(ctx context.Context, stream jetstream.Stream, last uint64) error {
	if l.filters != nil || l.pos.Sequence == 0 { // nothing that could be lost was ever seen
		return nil
	}
	h := Hole{First: l.pos.Sequence + 1, Last: last, Expired: last < stream.CachedInfo().State.FirstSeq}
	l.log.WarnContext(ctx, "messages are gone from the stream before they were read",
		"first", h.First, "last", h.Last, "expired", h.Expired)
	l.opts.OnHole(h)
	return l.commit(ctx, nil, Position{Sequence: last, Stream: l.created})
}
