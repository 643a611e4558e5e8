package consume

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// inbox is the batch that is being collected: messages that follow one another.
type inbox struct {
	*loop
	stream   jetstream.Stream
	last     uint64          // sequence of the last message taken
	messages []Message       // to be applied
	raw      []jetstream.Msg // of messages, in the same order
	end      jetstream.Msg   // the last one taken: its ack covers all
	bytes    int
	pending  uint64          // messages that the server had for us behind end when it delivered it
	poisoned []*Poison       // in messages still, to be dead-lettered before they are applied
	dead     []jetstream.Msg // dead-lettered, to be terminated once the rest is committed
	reasons  []string        // of dead
}

func (in *inbox) full() bool {
	return len(in.messages) >= in.opts.Batch || in.bytes >= in.opts.BatchBytes
}

// add takes msg if it is new. It refuses one that does not follow.
func (in *inbox) add(ctx context.Context, msg jetstream.Msg) error {
	meta, err := msg.Metadata()
	if err != nil {
		return fmt.Errorf("message metadata: %w", err)
	}
	seq := meta.Sequence.Stream
	follows := meta.Sequence.Consumer == in.delivered+1
	in.delivered = meta.Sequence.Consumer
	if seq <= in.last {
		return nil // delivered again
	}
	if err := in.hole(ctx, seq, follows); err != nil {
		return err
	}
	m := Message{Sequence: seq, Subject: msg.Subject(), Data: msg.Data(), Stored: meta.Timestamp.UTC()}
	in.last, in.end, in.pending = seq, msg, meta.NumPending
	in.bytes += len(m.Data)
	m.Address, err = in.opts.Space.Parse(m.Subject)
	in.messages, in.raw = append(in.messages, m), append(in.raw, msg)
	if err != nil && !in.opts.Foreign {
		in.poisoned = append(in.poisoned, &Poison{Sequence: seq, Reason: "subject is not one of an event or a manifest"})
	}
	return nil
}

// hole decides about the sequences between the last message and seq. Of all
// messages each must come, unless the stream's leader says that they are gone.
// Of one tenant's there may be any between, but no delivery may be missing.
func (in *inbox) hole(ctx context.Context, seq uint64, follows bool) error {
	switch {
	case in.filters == nil && seq == in.last+1:
		return nil
	case !follows:
		return &holeError{after: in.last, got: seq}
	case in.filters != nil:
		return nil
	}
	next, err := in.next(ctx, in.stream, in.last)
	if err != nil {
		return err
	}
	if next != seq {
		return &holeError{after: in.last, got: seq}
	}
	stream, err := in.open(ctx)
	if err != nil {
		return err
	}
	level := slog.LevelWarn
	if in.last == 0 {
		level = slog.LevelInfo // it begins late: nothing new for a projection that begins itself
	}
	h := Hole{First: in.last + 1, Last: seq - 1, Expired: seq <= stream.CachedInfo().State.FirstSeq}
	in.log.Log(ctx, level, "messages are gone from the stream before they were read",
		"first", h.First, "last", h.Last, "expired", h.Expired)
	in.opts.OnHole(h)
	return nil
}

// take removes the message with that sequence, and reports whether it was there.
func (in *inbox) take(seq uint64) (Message, jetstream.Msg, bool) {
	i, ok := slices.BinarySearchFunc(in.messages, seq, func(m Message, seq uint64) int {
		return cmp.Compare(m.Sequence, seq)
	})
	if !ok {
		return Message{}, nil, false
	}
	m, raw := in.messages[i], in.raw[i]
	in.messages, in.raw = slices.Delete(in.messages, i, i+1), slices.Delete(in.raw, i, i+1)
	return m, raw, true
}

// position is the one that the projection has when the whole batch is applied.
func (in *inbox) position() Position {
	return Position{Sequence: in.last, Stream: in.created, Hash: events.HashOf(in.end.Data())}
}
