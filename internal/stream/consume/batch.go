package consume

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type batch struct {
	loop     *loop
	stream   jetstream.Stream
	last     uint64 // sequence of the last message
	messages []Message
	raw      []jetstream.Msg // messages as delivered by the server
	end      jetstream.Msg   // last message; its acknowledgement covers all earlier ones
	bytes    int
	pending  uint64 // messages for this durable after end
	poisoned []*Poison
	dead     []jetstream.Msg // dead-lettered, to terminate after the commit
	reasons  []string        // for each message in dead
}

func (b *batch) full() bool {
	return len(b.messages) >= b.loop.opts.Batch || b.bytes >= b.loop.opts.BatchBytes
}

func (b *batch) add(ctx context.Context, msg jetstream.Msg) error {
	meta, err := msg.Metadata()
	if err != nil {
		return fmt.Errorf("message metadata: %w", err)
	}
	seq := meta.Sequence.Stream
	follows := meta.Sequence.Consumer == b.loop.delivered+1
	b.loop.delivered = meta.Sequence.Consumer
	if seq <= b.last {
		return nil // a repeated delivery
	}
	if err := b.checkNext(ctx, seq, follows); err != nil {
		return err
	}
	m := Message{Sequence: seq, Subject: msg.Subject(), Data: msg.Data(), Stored: meta.Timestamp.UTC()}
	b.last, b.end, b.pending = seq, msg, meta.NumPending
	b.bytes += len(m.Data)
	m.Address, err = b.loop.opts.Space.Parse(m.Subject)
	b.messages, b.raw = append(b.messages, m), append(b.raw, msg)
	if err != nil && !b.loop.opts.UnknownSubjects {
		b.poisoned = append(b.poisoned, &Poison{Sequence: seq, Reason: "subject is not one of an event or a manifest"})
	}
	return nil
}

// checkNext accepts lost messages only if the stream's leader confirms that they are gone. With
// filters, a gap in the sequence numbers is normal.
func (b *batch) checkNext(ctx context.Context, seq uint64, consecutive bool) error {
	switch {
	case b.loop.filters == nil && seq == b.last+1:
		return nil
	case !consecutive:
		return &skipError{after: b.last, got: seq}
	case b.loop.filters != nil:
		return nil
	}
	next, err := b.loop.next(ctx, b.stream, b.last)
	if err != nil {
		return err
	}
	if next != seq {
		return &skipError{after: b.last, got: seq}
	}
	stream, err := b.loop.open(ctx)
	if err != nil {
		return err
	}
	b.loop.reportGap(ctx, Gap{First: b.last + 1, Last: seq - 1, Expired: seq <= stream.CachedInfo().State.FirstSeq})
	return nil
}

func (b *batch) take(seq uint64) (Message, jetstream.Msg, bool) {
	i, ok := slices.BinarySearchFunc(b.messages, seq, func(m Message, seq uint64) int {
		return cmp.Compare(m.Sequence, seq)
	})
	if !ok {
		return Message{}, nil, false
	}
	m, raw := b.messages[i], b.raw[i]
	b.messages, b.raw = slices.Delete(b.messages, i, i+1), slices.Delete(b.raw, i, i+1)
	return m, raw, true
}

func (b *batch) position() Position {
	return Position{Sequence: b.last, Stream: b.loop.created, Hash: events.HashOf(b.end.Data())}
}
