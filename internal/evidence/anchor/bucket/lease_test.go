package bucket

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }

type clock struct{ time.Time }

func (c *clock) now() time.Time          { return c.Time }
func (c *clock) advance(d time.Duration) { c.Time = c.Add(d) }

func newClock() *clock { return &clock{time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)} }

func broker(tb testing.TB) jetstream.JetStream {
	tb.Helper()
	return natstest.Start(tb).JetStream(tb)
}

func refresh(tb testing.TB, l *Lease) {
	tb.Helper()
	if err := l.Refresh(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// pass advances the clock of a candidate that keeps refreshing.
func pass(tb testing.TB, l *Lease, c *clock, d time.Duration) {
	tb.Helper()
	for ; d > 0; d -= RefreshInterval {
		c.advance(min(d, RefreshInterval))
		refresh(tb, l)
	}
}

func put(tb testing.TB, l *Lease, tenant, signed string, revision uint64) uint64 {
	tb.Helper()
	all := []Upload{{Tenant: tenant, Signed: []byte(signed), Revision: revision}}
	if err := l.Put(tb.Context(), all); err != nil {
		tb.Fatal(err)
	}
	return all[0].Revision
}

func wantNewest(tb testing.TB, b *Bucket, tenant, signed string) Entry {
	tb.Helper()
	e, err := b.Newest(tb.Context(), tenant)
	if err != nil || string(e.Data) != signed {
		tb.Fatalf("tenant %q: got %q, %v, want %q", tenant, e.Data, err, signed)
	}
	return e
}

// A recreated bucket counts revisions from 1 again, so another process's lease may have the
// revision of ours.
func TestLease_SameRevisionInANewBucket(t *testing.T) {
	js := broker(t)
	old, c := At(js, subjects.Space{}), newClock()
	l := old.Lease(Candidate{Durable: "auditor", now: c.now})
	refresh(t, l)
	stream, err := js.Stream(t.Context(), subjects.Space{}.CheckpointStream())
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), subjects.Space{}.CheckpointStream()); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), stream.CachedInfo().Config); err != nil {
		t.Fatal(err)
	}
	other := At(js, subjects.Space{}).Lease(Candidate{Durable: "auditor", now: c.now})
	refresh(t, other)
	refresh(t, l)
	if l.Held() || !other.Held() {
		t.Errorf("got %v and %v, want only the other one's turn", l.Held(), other.Held())
	}
}

// A holder that was suspended during a takeover no longer holds the lease. Its uploads are
// rejected, also for keys that the new holder has not written.
//
//guarantee:standby
func TestLease_StoppedHolderStoresNothing(t *testing.T) {
	b := At(broker(t), subjects.Space{})
	firstClock, secondClock := newClock(), newClock()
	first := b.Lease(Candidate{Durable: "auditor", now: firstClock.now})
	second := b.Lease(Candidate{Durable: "auditor", Standby: true, now: secondClock.now})
	refresh(t, first)
	if !first.Held() {
		t.Fatal("the lease was free, and the first one did not take it")
	}
	acme := put(t, first, "acme", "one", 0)
	other := put(t, first, "other", "one", 0)

	// The first process is suspended here. Its clock continues.
	pass(t, second, secondClock, challengeAfter+TakeoverAfter+2*RefreshInterval)
	if !second.Held() {
		t.Fatal("the second one did not take over")
	}
	put(t, second, "acme", "two", acme)
	firstClock.advance(challengeAfter + TakeoverAfter)
	if first.Held() {
		t.Error("the first one goes on as if nothing had been")
	}
	for tenant, revision := range map[string]uint64{"acme": acme, "other": other} {
		late := []Upload{{Tenant: tenant, Signed: []byte("late"), Revision: revision}}
		if err := first.Put(t.Context(), late); !errors.Is(err, ErrConflict) {
			t.Errorf("%s: got %v, want %v", tenant, err, ErrConflict)
		}
	}
	wantNewest(t, b, "acme", "two")
	wantNewest(t, b, "other", "one")
	refresh(t, first)
	if name, isOther := first.Holder(); first.Held() || !isOther || name != second.id {
		t.Errorf("the first one sees %q as the holder", name)
	}
}

//guarantee:standby
func TestLease_HolderThatAnswersKeepsIt(t *testing.T) {
	b := At(broker(t), subjects.Space{})
	c := newClock()
	first := b.Lease(Candidate{Durable: "auditor", now: c.now})
	second := b.Lease(Candidate{Durable: "auditor", now: c.now})
	for range 40 { // ten seconds
		refresh(t, first)
		refresh(t, second)
		c.advance(RefreshInterval)
	}
	if !first.Held() || second.Held() || !second.Answered() {
		t.Errorf("held: %v and %v; answered: %v", first.Held(), second.Held(), second.Answered())
	}
	// An upload shows that the holder is alive.
	before := first.revision
	put(t, first, "acme", "one", 0)
	refresh(t, second)
	if second.revision <= before || second.Held() {
		t.Errorf("the contender has revision %d, the lease was %d", second.revision, before)
	}
}

func TestLease_CostsNothingAlone(t *testing.T) {
	b := At(broker(t), subjects.Space{})
	c := newClock()
	l := b.Lease(Candidate{Durable: "auditor", now: c.now})
	refresh(t, l)
	before := l.revision
	pass(t, l, c, time.Minute)
	stream, err := b.js.Stream(t.Context(), b.space.CheckpointStream())
	if err != nil {
		t.Fatal(err)
	}
	if last := stream.CachedInfo().State.LastSeq; last != before || !l.Held() {
		t.Errorf("got message %d, want %d to be the last; held: %v", last, before, l.Held())
	}
}

func TestLease_Free(t *testing.T) {
	b := At(broker(t), subjects.Space{})
	c := newClock()
	standby := b.Lease(Candidate{Durable: "auditor", Standby: true, now: c.now})
	refresh(t, standby)
	if standby.Held() {
		t.Error("a standby took the lease before its auditor could")
	}
	first := b.Lease(Candidate{Durable: "auditor", now: c.now})
	refresh(t, first)
	if !first.Held() {
		t.Error("the auditor did not take the lease")
	}
	if err := first.Release(t.Context()); err != nil || first.Held() {
		t.Fatalf("release: %v, held: %v", err, first.Held())
	}
	if err := standby.Release(t.Context()); err != nil { // without holding it
		t.Error(err)
	}
	pass(t, standby, c, TakeoverAfter+2*RefreshInterval)
	if !standby.Held() {
		t.Error("the standby did not take what was given back")
	}
	other := b.Lease(Candidate{Durable: "auditor==acme", now: c.now})
	refresh(t, other)
	if !other.Held() {
		t.Error("the lease of another partition was not free")
	}
}

// A lease does not expire while the broker is unreachable.
func TestLease_BrokerAway(t *testing.T) {
	s := natstest.Listen(t, t.TempDir())
	b := At(s.JetStream(t), subjects.Space{})
	c := newClock()
	first := b.Lease(Candidate{Durable: "auditor", now: c.now})
	second := b.Lease(Candidate{Durable: "auditor", now: c.now})
	refresh(t, first)
	refresh(t, second) // challenges
	s.Stop()
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if second.Refresh(short) == nil {
		t.Fatal("it read from a broker that is away")
	}
	c.advance(time.Hour)
	if first.Held() {
		t.Error("an hour later the lease is held still")
	}
	s.Restart(t)
	for second.Refresh(t.Context()) != nil { // until the connection is back
		if t.Context().Err() != nil {
			t.Fatal("the broker did not come back")
		}
	}
	if second.Held() {
		t.Error("it took the lease from a holder that could not answer")
	}
	for first.Refresh(t.Context()) != nil {
		if t.Context().Err() != nil {
			t.Fatal("the broker did not come back")
		}
	}
	if !first.Held() {
		t.Error("the holder lost the lease while the broker was away")
	}
}

func TestLease_Unreadable(t *testing.T) {
	js := broker(t)
	b := At(js, subjects.Space{})
	c := newClock()
	l := b.Lease(Candidate{Durable: "auditor", now: c.now})
	if _, err := js.Publish(t.Context(), l.subject, []byte("junk")); err != nil {
		t.Fatal(err)
	}
	refresh(t, l)
	if l.Held() {
		t.Error("it took the lease of somebody that it does not know at once")
	}
	pass(t, l, c, TakeoverAfter+RefreshInterval)
	if !l.Held() {
		t.Error("it waits for ever for somebody who cannot answer")
	}
}

func TestPut_AllOrNone(t *testing.T) {
	js := broker(t)
	b := At(js, subjects.Space{})
	l := b.Lease(Candidate{Durable: "auditor"})
	refresh(t, l)
	var all []Upload
	for i := range MaxUploads {
		all = append(all, Upload{Tenant: string(rune('a'+i%26)) + string(rune('a'+i/26)), Signed: bytes.Repeat([]byte{'x'}, 700)})
	}
	if err := l.Put(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	for _, p := range []Upload{all[0], all[MaxUploads-1]} {
		if e := wantNewest(t, b, p.Tenant, string(p.Signed)); e.Revision != p.Revision {
			t.Errorf("tenant %s: got revision %d, want %d", p.Tenant, p.Revision, e.Revision)
		}
	}
	stale := []Upload{
		{Tenant: all[0].Tenant, Signed: []byte("new"), Revision: all[0].Revision},
		{Tenant: all[1].Tenant, Signed: []byte("new"), Revision: all[1].Revision - 1},
	}
	if err := l.Put(t.Context(), stale); !errors.Is(err, ErrConflict) {
		t.Fatalf("got %v, want %v", err, ErrConflict)
	}
	wantNewest(t, b, all[0].Tenant, string(all[0].Signed))
	refresh(t, l)
	if err := l.Put(t.Context(), stale[:1]); err != nil {
		t.Errorf("the one that was right: %v", err)
	}
}

// After a Put without an answer, the bucket shows whether it was stored. A retry is rejected with
// the old revision and stored with the current one.
func TestPut_Unanswered(t *testing.T) {
	b := At(broker(t), subjects.Space{})
	l := b.Lease(Candidate{Durable: "auditor"})
	refresh(t, l)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	all := []Upload{{Tenant: "acme", Signed: []byte("one")}}
	if err := l.Put(ended, all); !errors.Is(err, errUnanswered) {
		t.Fatalf("got %v, want %v", err, errUnanswered)
	}
	for before := l.revision; l.revision == before; { // until it is stored
		refresh(t, l)
	}
	e := wantNewest(t, b, "acme", "one")
	if err := l.Put(t.Context(), all); !errors.Is(err, ErrConflict) {
		t.Errorf("again: got %v, want %v", err, ErrConflict)
	}
	if !l.Held() {
		t.Fatal("it lost the turn to itself")
	}
	put(t, l, "acme", "two", e.Revision)
	wantNewest(t, b, "acme", "two")
}

// NATS tools can read the bucket. Keys that they delete are empty.
func TestBucket_IsKeyValue(t *testing.T) {
	js := natstest.Start(t, natstest.Options{AllowTamper: true}).JetStream(t)
	b := At(js, subjects.Space{})
	l := b.Lease(Candidate{Durable: "auditor"})
	refresh(t, l)
	put(t, l, "a/b", "one", 0)
	kv, err := js.KeyValue(t.Context(), b.Name())
	if err != nil {
		t.Fatal(err)
	}
	if e, err := kv.Get(t.Context(), "a=2Fb"); err != nil || string(e.Value()) != "one" {
		t.Errorf("got %v, %v", e, err)
	}
	if err := kv.Delete(t.Context(), "a=2Fb"); err != nil {
		t.Fatal(err)
	}
	e := wantNewest(t, b, "a/b", "")
	if e.Data != nil || e.Revision == 0 {
		t.Errorf("got %+v, want nothing, with a revision", e)
	}
	put(t, l, "a/b", "two", e.Revision)
}

func TestBucket_Missing(t *testing.T) {
	js := natstest.Start(t, natstest.Options{NoStreams: true}).JetStream(t)
	if _, err := At(js, subjects.Space{}).Newest(t.Context(), "acme"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("got %v", err)
	}
}
