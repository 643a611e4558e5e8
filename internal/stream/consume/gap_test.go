package consume_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

func TestRun_LostDeliveriesComeAgain(t *testing.T) {
	for _, tenant := range []string{"", "acme"} {
		t.Run("tenant="+tenant, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { lostDeliveries(t, tenant) })
		})
	}
}

func lostDeliveries(t *testing.T, tenant string) {
	t.Helper()
	js := natstest.Start(t).JetStream(t)
	p := newMemory()
	opts := consume.Options{Tenant: tenant, AckWait: time.Hour, Batch: 2}
	r := start(t, js, opts, p)
	publish(t, js, "acme", 1, 1)
	p.wait(t, 1)
	durable, err := space.Durable("test", tenant)
	if err != nil {
		t.Fatal(err)
	}
	c, err := js.Consumer(t.Context(), space.EventStream(), durable)
	if err != nil {
		t.Fatal(err)
	}
	stolen := 0
	for first := 2; first <= 200; first += 20 {
		batch, err := c.Fetch(7, jetstream.FetchMaxWait(300*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		publish(t, js, "acme", first, 20)
		for range batch.Messages() {
			stolen++
		}
	}
	began := time.Now()
	p.wait(t, 201)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %v, as if waiting for the ack wait", took)
	}
	r.stop(t)
	check(t, p, upTo(201))
	if stolen == 0 {
		t.Error("nothing was stolen")
	}
}

// No later sequence reveals the loss of the last message.
func TestRun_LostLastDeliveryComesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		js := natstest.Start(t).JetStream(t)
		p := newMemory()
		publish(t, js, "acme", 1, 1)
		drain(t, js, consume.Options{AckWait: time.Hour}, p)
		publish(t, js, "acme", 2, 3)
		r := start(t, js, consume.Options{AckWait: time.Hour}, p)
		p.wait(t, 4)
		c, err := js.Consumer(t.Context(), space.EventStream(), "test")
		if err != nil {
			t.Fatal(err)
		}
		for n, stolen := 5, 0; stolen == 0; n += 2 {
			batch, err := c.Fetch(1, jetstream.FetchMaxWait(100*time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			publish(t, js, "acme", n, 2) // one for each reader
			for range batch.Messages() {
				stolen++
			}
		}
		stream, err := js.Stream(t.Context(), space.EventStream())
		if err != nil {
			t.Fatal(err)
		}
		last := stream.CachedInfo().State.LastSeq
		began := time.Now()
		p.wait(t, int(last))
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("took %v", took)
		}
		r.stop(t)
		check(t, p, upTo(last))
	})
}

func TestRun_DeletedMessagesArePassedAndReported(t *testing.T) {
	js := natstest.Start(t, tampered()).JetStream(t)
	publish(t, js, "acme", 1, 20)
	for _, seq := range []uint64{1, 2, 7, 11, 12, 13, 20} {
		remove(t, js, seq)
	}
	var gaps []consume.Gap
	opts := consume.Options{Batch: 4, OnGap: func(g consume.Gap) { gaps = append(gaps, g) }}
	p := newMemory()
	drain(t, js, opts, p)
	check(t, p, []uint64{3, 4, 5, 6, 8, 9, 10, 14, 15, 16, 17, 18, 19})
	want := []consume.Gap{{First: 1, Last: 2, Expired: true}, {First: 7, Last: 7}, {First: 11, Last: 13}, {First: 20, Last: 20}}
	if diff := cmp.Diff(want, gaps); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}

	publish(t, js, "acme", 21, 2)
	gaps = nil
	drain(t, js, opts, p)
	if len(gaps) > 0 {
		t.Errorf("reported again: %+v", gaps)
	}
	remove(t, js, 22) // message 22 is the position
	publish(t, js, "acme", 23, 1)
	drain(t, js, opts, p)
	want = []consume.Gap{{First: 22, Last: 22}}
	if diff := cmp.Diff(want, gaps); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
	if got := p.applied(); got[len(got)-1] != 23 {
		t.Errorf("got %v", got)
	}
}

// After a purge while no consumer is running, no message reveals the loss.
//
//guarantee:verify-stream-replaced
func TestRun_PurgedTailIsReported(t *testing.T) {
	js := natstest.Start(t, tampered()).JetStream(t)
	publish(t, js, "acme", 1, 5)
	var gaps []consume.Gap
	opts := consume.Options{OnGap: func(g consume.Gap) { gaps = append(gaps, g) }}
	p := newMemory()
	drain(t, js, opts, p)
	publish(t, js, "acme", 6, 5)
	stream, err := js.Stream(t.Context(), space.EventStream())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the gap must be reported only once
		drain(t, js, opts, p)
	}
	if diff := cmp.Diff([]consume.Gap{{First: 6, Last: 10, Expired: true}}, gaps); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
	publish(t, js, "acme", 11, 2)
	drain(t, js, opts, p)
	if got := p.applied(); len(gaps) != 1 || got[len(got)-1] != 12 {
		t.Errorf("got %v, gaps %+v", got, gaps)
	}
}

//guarantee:verify-stream-replaced
func TestRun_PurgedStream(t *testing.T) {
	js := natstest.Start(t, tampered()).JetStream(t)
	publish(t, js, "acme", 1, 10)
	stream, err := js.Stream(t.Context(), space.EventStream())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := newMemory()
	drain(t, js, consume.Options{}, p)
	var lag uint64 = 99
	ctx, cancel := context.WithCancel(t.Context())
	err = consume.Run(ctx, js, consume.Options{Durable: "test", Progress: func(g consume.Progress) {
		lag = g.Lag
		cancel()
	}}, p)
	if err != nil || lag != 0 {
		t.Errorf("got lag %d, error %v", lag, err)
	}
	publish(t, js, "acme", 11, 1)
	drain(t, js, consume.Options{}, p)
	check(t, p, []uint64{11})
}

func TestRun_ExpiredMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		js := natstest.Start(t, natstest.Options{NoStreams: true}).JetStream(t)
		_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
			Name: space.EventStream(), Subjects: []string{space.AllEvents(), space.AllChains()}, MaxAge: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		publish(t, js, "acme", 1, 5)
		p := newMemory()
		drain(t, js, consume.Options{}, p)
		publish(t, js, "acme", 6, 5)
		time.Sleep(2 * time.Minute)
		publish(t, js, "acme", 11, 5)
		var gaps []consume.Gap
		drain(t, js, consume.Options{OnGap: func(g consume.Gap) { gaps = append(gaps, g) }}, p)
		check(t, p, append(upTo(5), between(11, 15)...))
		if diff := cmp.Diff([]consume.Gap{{First: 6, Last: 10, Expired: true}}, gaps); diff != "" {
			t.Errorf("gaps (-want +got):\n%s", diff)
		}
	})
}
