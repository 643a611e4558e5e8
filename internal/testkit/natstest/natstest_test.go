package natstest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

// The second bubble fails if a goroutine of the server still uses the clock of the first.
func TestStart(t *testing.T) {
	for _, name := range []string{"AckWaitFollowsTheFakeClock", "AndInAnotherBubble"} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, redelivery) })
	}
}

func redelivery(t *testing.T) {
	ctx := t.Context()
	s := natstest.Start(t)
	js := s.JetStream(t)
	stream := s.Space().EventStream()
	subject, err := s.Space().Event("acme", "p1", "r1", "run.started")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(ctx, subject, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	c, err := js.CreateConsumer(ctx, stream, jetstream.ConsumerConfig{
		Durable: "d", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Next(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	msg, err := c.Next(jetstream.FetchMaxWait(5 * time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	meta, err := msg.Metadata()
	if err != nil {
		t.Fatal(err)
	}
	if got := time.Since(began).Round(time.Second); meta.NumDelivered != 2 || got != time.Minute {
		t.Errorf("got delivery %d after %v, want 2 after 1m0s", meta.NumDelivered, got)
	}
}

func TestListen(t *testing.T) {
	s := natstest.Listen(t, t.TempDir())
	js := s.JetStream(t)
	subject, err := s.Space().Chain("acme", "p1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), subject, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	url := s.URL()
	s.Stop()
	s.Restart(t)
	if s.URL() != url {
		t.Errorf("got %s after the restart, want %s", s.URL(), url)
	}
	stream, err := s.JetStream(t).Stream(t.Context(), s.Space().EventStream())
	if err != nil {
		t.Fatal(err)
	}
	if got := stream.CachedInfo().State.Msgs; got != 1 {
		t.Errorf("got %d messages after the restart, want 1", got)
	}
}
