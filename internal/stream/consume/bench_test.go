package consume_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

// BenchmarkRun compares the loop with a plain ordered consumer, which no loop can exceed.
func BenchmarkRun(b *testing.B) {
	const n = 50_000
	js := natstest.Start(b, natstest.Options{NoSync: true, MaxBytes: 1 << 30}).JetStream(b)
	subject, err := space.Event("acme", "p1", "r1", "run.started")
	if err != nil {
		b.Fatal(err)
	}
	for range n {
		if _, err := js.PublishAsync(subject, make([]byte, 1000), jetstream.WithStallWait(time.Minute)); err != nil {
			b.Fatal(err)
		}
	}
	<-js.PublishAsyncComplete()
	b.Run("limit", func(b *testing.B) {
		for b.Loop() {
			c, err := js.OrderedConsumer(b.Context(), space.EventStream(), jetstream.OrderedConsumerConfig{})
			if err != nil {
				b.Fatal(err)
			}
			messages, err := c.Messages(jetstream.PullMaxMessages(4000))
			if err != nil {
				b.Fatal(err)
			}
			for range n {
				if _, err := messages.Next(); err != nil {
					b.Fatal(err)
				}
			}
			messages.Stop()
		}
		b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "messages/s")
	})
	b.Run("loop", func(b *testing.B) {
		for b.Loop() {
			p := newMemory()
			if err := consume.Run(b.Context(), js, consume.Options{Durable: "bench", Drain: true}, p); err != nil {
				b.Fatal(err)
			}
			if len(p.seqs) != n {
				b.Fatalf("got %d messages, want %d", len(p.seqs), n)
			}
		}
		b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "messages/s")
	})
}
