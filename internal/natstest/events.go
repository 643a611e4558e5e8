package natstest

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Events returns the events that are in the stream, in its order, without the
// manifests.
func (s *Server) Events(tb testing.TB) (list []events.Event) {
	tb.Helper()
	ctx := tb.Context()
	js := s.JetStream(tb)
	stream, err := js.Stream(ctx, s.Space().EventStream())
	if err != nil {
		tb.Fatal(err)
	}
	consumer, err := js.OrderedConsumer(ctx, s.Space().EventStream(), jetstream.OrderedConsumerConfig{})
	if err != nil {
		tb.Fatal(err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		tb.Fatal(err)
	}
	defer messages.Stop()
	for range stream.CachedInfo().State.Msgs {
		msg, err := messages.Next(jetstream.NextMaxWait(10 * time.Second))
		if err != nil {
			tb.Fatal(err)
		}
		address, err := s.Space().Parse(msg.Subject())
		if err != nil {
			tb.Fatal(err)
		}
		if address.Manifest {
			continue
		}
		e, err := events.Decode(msg.Data())
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}
