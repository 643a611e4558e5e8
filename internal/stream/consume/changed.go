package consume

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/pkg/events"
)

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

func (l *loop) passTail(ctx context.Context, stream jetstream.Stream, last uint64) error {
	if l.filters != nil || l.pos.Sequence == 0 { // no message was read yet, so none can be lost
		return nil
	}
	l.reportGap(ctx, Gap{First: l.pos.Sequence + 1, Last: last, Expired: last < stream.CachedInfo().State.FirstSeq})
	return l.commit(ctx, nil, Position{Sequence: last, Stream: l.created})
}

func (l *loop) reportGap(ctx context.Context, g Gap) {
	level := slog.LevelWarn
	if g.First == 1 {
		level = slog.LevelInfo // normal when a new projection reads an old stream
	}
	l.log.Log(ctx, level, "messages lost before they were read", "first", g.First, "last", g.Last, "expired", g.Expired)
	l.opts.OnGap(g)
}
