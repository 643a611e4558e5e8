package consume

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// lastCommon returns the position to resume at in a changed stream. That is the
// latest earlier position with the same message in both streams, or the beginning.
func (l *loop) lastCommon(ctx context.Context, stream jetstream.Stream) (Position, error) {
	begin := Position{Stream: l.created}
	passed, err := l.opts.Passed(ctx)
	if err != nil {
		return begin, fmt.Errorf("earlier positions: %w", err)
	}
	for _, p := range passed {
		if p.Sequence == 0 || p.Sequence > stream.CachedInfo().State.LastSeq {
			continue
		}
		same, err := hasMessage(ctx, stream, p)
		if err != nil {
			return begin, err
		}
		if same {
			l.log.InfoContext(ctx, "changed stream shares messages with the previous one", "last", p.Sequence)
			return Position{Sequence: p.Sequence, Stream: l.created, Hash: p.Hash}, nil
		}
	}
	return begin, nil
}

// hasMessage reports whether the stream has the message at p.
func hasMessage(ctx context.Context, stream jetstream.Stream, p Position) (bool, error) {
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

// pending returns the sequence of the next message for this durable, up to last, or
// 0 when there is none. In that case it moves the position past missing messages.
func (l *loop) pending(ctx context.Context, stream jetstream.Stream, last uint64) (uint64, error) {
	if last <= l.pos.Sequence {
		return 0, nil
	}
	next, err := l.next(ctx, stream, l.pos.Sequence)
	if err == nil && next == 0 {
		err = l.passTail(ctx, stream, last)
	}
	return next, err
}

// passTail moves the position past missing messages at the end of the stream, up to
// last. No later message can reveal that they are missing. A reader of one tenant
// cannot distinguish them from messages of other tenants.
func (l *loop) passTail(ctx context.Context, stream jetstream.Stream, last uint64) error {
	if l.filters != nil || l.pos.Sequence == 0 { // nothing was read that could be lost
		return nil
	}
	h := Hole{First: l.pos.Sequence + 1, Last: last, Expired: last < stream.CachedInfo().State.FirstSeq}
	l.log.WarnContext(ctx, "messages lost before they were read",
		"first", h.First, "last", h.Last, "expired", h.Expired)
	l.opts.OnHole(h)
	return l.commit(ctx, nil, Position{Sequence: last, Stream: l.created})
}
