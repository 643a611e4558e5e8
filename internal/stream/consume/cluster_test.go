package consume_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

//guarantee:leader-lost
func TestRun_OutlivesLeaders(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	c := natstest.StartCluster(t)
	js := c.JetStream(t)
	p := newMemory()
	r := start(t, c.JetStream(t), consume.Options{Batch: 10}, p)
	sent := 0
	send := func(n int) {
		for range n {
			sent++
			publishOnce(t, js, sent)
		}
	}
	send(50)
	p.wait(t, 50)
	for range 3 {
		leader := c.Leader(space.EventStream(), "test")
		if leader < 0 {
			continue // between two leaders
		}
		send(20)
		c.Stop(leader)
		send(20)
		c.Restart(t, leader)
		send(20)
		p.wait(t, sent)
	}
	r.stop(t)
	check(t, p, upTo(uint64(sent)))
	if sent == 50 {
		t.Error("no leader was stopped")
	}
}

// publishOnce retries until message n is stored.
func publishOnce(t *testing.T, js jetstream.JetStream, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	subject, err := space.Event("acme", "p1", "r1", "run.started")
	if err != nil {
		t.Fatal(err)
	}
	for {
		try, cancel := context.WithTimeout(ctx, time.Second)
		_, err := js.Publish(try, subject, fmt.Append(nil, n), jetstream.WithMsgID(fmt.Sprint(n)))
		cancel()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("publish %d: %v", n, err)
		}
	}
}
