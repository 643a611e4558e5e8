package natstest

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// readBytes limits the pending bytes of a request. The server disconnects clients with too many.
const readBytes = 8 << 20

// Messages returns all messages in the event stream, each once and in order.
func (s *Server) Messages(tb testing.TB, opts ...nats.Option) (list []*jetstream.RawStreamMsg) {
	tb.Helper()
	ctx := tb.Context()
	js := s.JetStream(tb, opts...)
	stream, err := js.Stream(ctx, s.Space().EventStream())
	if err != nil {
		tb.Fatal(err)
	}
	state := stream.CachedInfo().State
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		tb.Fatal(err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxBytes(readBytes))
	if err != nil {
		tb.Fatal(err)
	}
	defer messages.Stop()
	for read := uint64(0); uint64(len(list)) < state.Msgs; {
		msg, err := messages.Next(jetstream.NextMaxWait(readyTimeout))
		if err != nil {
			tb.Fatalf("read %d of %d messages: %v", len(list), state.Msgs, err)
		}
		meta, err := msg.Metadata()
		if err != nil {
			tb.Fatal(err)
		}
		// The sequences ascend up to LastSeq, so state.Msgs of them are all messages.
		if n := meta.Sequence.Stream; n <= read || n > state.LastSeq {
			tb.Fatalf("read %d of %d messages: #%d came behind #%d, the last is #%d", len(list), state.Msgs, n, read, state.LastSeq)
		}
		read = meta.Sequence.Stream
		list = append(list, &jetstream.RawStreamMsg{
			Subject: msg.Subject(), Sequence: read, Header: msg.Headers(), Data: msg.Data(), Time: meta.Timestamp,
		})
	}
	return list
}

// Events returns the events of the stream in its order.
func (s *Server) Events(tb testing.TB) (list []events.Event) {
	tb.Helper()
	for _, msg := range s.Messages(tb) {
		address, err := s.Space().Parse(msg.Subject)
		if err != nil {
			tb.Fatal(err)
		}
		if address.Manifest {
			continue
		}
		e, err := events.Decode(msg.Data)
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}
