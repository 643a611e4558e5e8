package consume_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func check(t *testing.T, p *memory, want []uint64) {
	t.Helper()
	if diff := cmp.Diff(want, p.applied()); diff != "" {
		t.Errorf("applied (-want +got):\n%s", diff)
	}
}

func TestRun_DrainHandlesAllAndReturns(t *testing.T) {
	js := natstest.Start(t).JetStream(t)
	p := newMemory()
	drain(t, js, consume.Options{}, p)
	publish(t, js, "acme", 1, 25)
	var last consume.Progress
	drain(t, js, consume.Options{Batch: 10, Progress: func(g consume.Progress) { last = g }}, p)
	check(t, p, upTo(25))
	if last.Done != 25 || last.Lag != 0 || last.Target != 25 || last.Err != nil {
		t.Errorf("progress: got %+v", last)
	}
	if want := events.HashOf([]byte("acme 25")); p.pos.Hash != want || p.pos.Sequence != 25 || p.pos.Stream.IsZero() {
		t.Errorf("position: got %+v", p.pos)
	}
	drain(t, js, consume.Options{}, p)
	check(t, p, upTo(25))
}

// Linger fills batches, but a drain does not wait at the end.
func TestRun_DrainFillsItsBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		js, p, began := natstest.Start(t).JetStream(t), newMemory(), time.Now()
		publish(t, js, "acme", 1, 25)
		drain(t, js, consume.Options{Batch: 100, Linger: time.Hour}, p)
		check(t, p, upTo(25))
		if took := time.Since(began); p.calls != 1 || took >= time.Hour {
			t.Errorf("%d batches in %v, want one at once", p.calls, took)
		}
	})
}

func TestRun_OneTenant(t *testing.T) {
	js := natstest.Start(t).JetStream(t)
	for i := range 10 {
		publish(t, js, "acme", i, 1)
		publish(t, js, "other", i, 2)
	}
	p := newMemory()
	for range 2 {
		drain(t, js, consume.Options{Tenant: "acme", Batch: 3}, p)
	}
	if len(p.data) != 10 || p.data[9] != "acme 9" {
		t.Errorf("got %q", p.data)
	}
	drain(t, js, consume.Options{Tenant: "nobody"}, newMemory())
}

func TestRun_GoesOnWhereTheProjectionIs(t *testing.T) {
	js := natstest.Start(t).JetStream(t)
	publish(t, js, "acme", 1, 30)
	p := newMemory()
	drain(t, js, consume.Options{}, p)
	// Restore the projection from a backup.
	p.seqs, p.data = p.seqs[:10], nil
	p.pos.Sequence, p.pos.Hash = 10, events.HashOf([]byte("acme 10"))
	drain(t, js, consume.Options{}, p)
	check(t, p, upTo(30))
}

func TestRun_ErrorIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		js := natstest.Start(t).JetStream(t)
		publish(t, js, "acme", 1, 20)
		p := newMemory()
		p.fail = func(call int, _ []consume.Message) (bool, error) {
			if call < 12 { // for minutes, longer than the ack wait
				return false, errors.New("disk is full")
			}
			return true, nil
		}
		healthy, sick := 0, 0
		opts := consume.Options{AckWait: time.Second, Progress: func(g consume.Progress) {
			if g.Err != nil {
				if sick++; g.Lag == 0 {
					t.Error("no lag while nothing is committed")
				}
			} else {
				healthy++
			}
		}}
		r := start(t, js, opts, p)
		p.wait(t, 20)
		publish(t, js, "acme", 21, 5)
		p.wait(t, 25)
		r.stop(t)
		check(t, p, upTo(25))
		if sick < 11 || healthy < 2 {
			t.Errorf("progress: got %d sick and %d healthy reports", sick, healthy)
		}
	})
}

func TestRun_FailedButDidHappen(t *testing.T) {
	js := natstest.Start(t).JetStream(t)
	publish(t, js, "acme", 1, 20)
	p := newMemory()
	p.fail = func(int, []consume.Message) (bool, error) { return true, errors.New("no answer to the commit") }
	drain(t, js, consume.Options{Batch: 7}, p)
	check(t, p, upTo(20))
}

//guarantee:poison
func TestRun_PoisonIsDeadLettered(t *testing.T) {
	js := natstest.Start(t).JetStream(t)
	publish(t, js, "acme", 1, 20)
	p := newMemory()
	bad := map[uint64]bool{3: true, 4: true, 20: true}
	p.fail = func(_ int, batch []consume.Message) (bool, error) {
		for _, m := range batch {
			if bad[m.Sequence] {
				return false, &consume.Poison{Sequence: m.Sequence, Reason: "not\nan event"}
			}
		}
		return true, nil
	}
	drain(t, js, consume.Options{Batch: 10}, p)
	check(t, p, append(append(upTo(2), between(5, 19)...), nil...))
	if p.pos.Sequence != 20 {
		t.Errorf("position: got %d, want 20", p.pos.Sequence)
	}

	letters := deadLetters(t, js, 3)
	for i, seq := range []uint64{3, 4, 20} {
		want := consume.DeadLetter{
			Consumer: "test", Stream: space.EventStream(), Created: p.pos.Stream, Sequence: seq,
			Subject: "hooktrail.ev.acme.p1.r1.run=2Estarted",
			Tenant:  "acme", Producer: "p1", Run: "r1", Kind: "run.started",
			SHA256: events.HashOf(fmt.Appendf(nil, "acme %d", seq)).String(), Bytes: len(fmt.Sprint("acme ", seq)),
			Stored: letters[i].Stored, Reason: "not\nan event",
		}
		if diff := cmp.Diff(want, letters[i]); diff != "" {
			t.Errorf("letter (-want +got):\n%s", diff)
		}
	}
}

func deadLetters(t *testing.T, js jetstream.JetStream, n int) []consume.DeadLetter {
	t.Helper()
	c, err := js.CreateConsumer(t.Context(), space.DeadLetterStream(), jetstream.ConsumerConfig{
		FilterSubject: space.AllDeadLetters(), AckPolicy: jetstream.AckNonePolicy,
	})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := c.FetchNoWait(n + 10)
	if err != nil {
		t.Fatal(err)
	}
	var letters []consume.DeadLetter
	for msg := range batch.Messages() {
		var l consume.DeadLetter
		if err := json.Unmarshal(msg.Data(), &l); err != nil {
			t.Fatal(err)
		}
		letters = append(letters, l)
	}
	if len(letters) != n {
		t.Fatalf("got %d dead letters, want %d", len(letters), n)
	}
	return letters
}

func TestRun_UnknownSubjects(t *testing.T) {
	js := natstest.Start(t).JetStream(t)
	publish(t, js, "acme", 1, 1)
	if _, err := js.Publish(t.Context(), "hooktrail.ev.not.ours", []byte("x")); err != nil {
		t.Fatal(err)
	}
	publish(t, js, "acme", 2, 1)

	p := newMemory()
	drain(t, js, consume.Options{}, p)
	check(t, p, []uint64{1, 3})
	if l := deadLetters(t, js, 1)[0]; l.Sequence != 2 || l.Subject != "hooktrail.ev.not.ours" {
		t.Errorf("got %+v", l)
	}

	p = newMemory()
	drain(t, js, consume.Options{Durable: "all", UnknownSubjects: true}, p)
	check(t, p, upTo(3))
}

func TestRun_StopLetsTheBatchFinish(t *testing.T) {
	js := natstest.Start(t).JetStream(t)
	publish(t, js, "acme", 1, 5)
	ctx, cancel := context.WithCancel(t.Context())
	p := newMemory()
	p.fail = func(int, []consume.Message) (bool, error) { cancel(); return true, nil }
	slow := applyFunc{p, func(ctx context.Context) error { return ctx.Err() }}
	if err := consume.Run(ctx, js, consume.Options{Durable: "test"}, slow); err != nil {
		t.Fatal(err)
	}
	if len(p.seqs) == 0 || p.pos.Sequence != uint64(len(p.seqs)) {
		t.Errorf("got %d applied and position %d", len(p.seqs), p.pos.Sequence)
	}
}

func TestRun_StopHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		js := natstest.Start(t).JetStream(t)
		publish(t, js, "acme", 1, 5)
		ctx, cancel := context.WithCancel(t.Context())
		stuck := applyFunc{newMemory(), func(ctx context.Context) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		}}
		began := time.Now()
		if err := consume.Run(ctx, js, consume.Options{Durable: "test", StopTimeout: 3 * time.Second}, stuck); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(began).Round(time.Second); got != 3*time.Second {
			t.Errorf("got an end after %v, want 3s", got)
		}
	})
}

type applyFunc struct {
	*memory
	before func(context.Context) error
}

func (a applyFunc) Apply(ctx context.Context, batch []consume.Message, next consume.Position) error {
	err := a.memory.Apply(ctx, batch, next)
	return errors.Join(err, a.before(ctx))
}
