package consume_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

// A service that falls behind takes no more memory than one request, however much waits for it.
func TestRun_LimitsBytesInFlight(t *testing.T) {
	const (
		n, size  = 48, 1 << 20 / 2
		requests = 16 << 20 // bytes of a request
	)
	js := natstest.Start(t, natstest.Options{NoSync: true}).JetStream(t)
	subject, err := space.Event("acme", "p1", "r1", "run.started")
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		if _, err := js.Publish(t.Context(), subject, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	p := newMemory()
	p.fail = func(call int, _ []consume.Message) (bool, error) {
		if call == 1 {
			if got := inFlight(t, js) * size; got < size || got > requests {
				t.Errorf("%d bytes in flight, want at most %d", got, requests)
			}
		}
		return true, nil
	}
	drain(t, js, consume.Options{}, p)
	if got := len(p.applied()); got != n {
		t.Errorf("%d messages applied, want %d", got, n)
	}
}

// inFlight returns the number of messages that the server sent without an acknowledgement, once it has
// answered the request of the consumer.
func inFlight(t *testing.T, js jetstream.JetStream) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	consumer, err := js.Consumer(ctx, space.EventStream(), "test")
	if err != nil {
		t.Fatal(err)
	}
	for {
		info, err := consumer.Info(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if info.NumWaiting == 0 {
			return info.NumAckPending
		}
	}
}
