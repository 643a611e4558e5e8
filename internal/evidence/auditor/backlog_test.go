package auditor

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// feed applies batches to a projection, as the consumer does.
type feed struct {
	tb     testing.TB
	b      *broker.Broker
	s      *service
	at     consume.Position
	number map[string]uint64 // number of the last event, by tenant
}

func newFeed(tb testing.TB, b *broker.Broker, dir string) *feed {
	tb.Helper()
	o := Options{Broker: b, DataDir: dir, NoBucket: true}.withDefaults()
	o.tooLong = func() <-chan time.Time { return nil } // no ledger counts as slow
	s, err := open(auditortest.Deadline(tb), o)
	if err != nil {
		tb.Fatal(err)
	}
	f := &feed{tb: tb, b: b, s: s, number: make(map[string]uint64)}
	f.at.Stream = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	return f
}

func (f *feed) event(tenant string, kind events.Kind, payload any) consume.Message {
	f.tb.Helper()
	e, err := events.New(kind, "/test", payload)
	if err != nil {
		f.tb.Fatal(err)
	}
	f.number[tenant]++
	e.ID, e.Tenant, e.Producer, e.Sequence, e.Salt = events.NewID(), tenant, "engine", f.number[tenant], events.NewSalt()
	return f.message(tenant, kind, e.Encode())
}

func (f *feed) message(tenant string, kind events.Kind, data []byte) consume.Message {
	f.tb.Helper()
	subject, err := f.b.Space().Event(tenant, "engine", "", kind)
	if err != nil {
		f.tb.Fatal(err)
	}
	address, err := f.b.Space().Parse(subject)
	if err != nil {
		f.tb.Fatal(err)
	}
	f.at.Sequence++
	f.at.Hash = events.HashOf(data)
	return consume.Message{Sequence: f.at.Sequence, Subject: subject, Address: address, Data: data, Stored: f.at.Stream}
}

func (f *feed) apply(batch ...consume.Message) {
	f.tb.Helper()
	if err := f.s.projector.Apply(auditortest.Deadline(f.tb), batch, f.at); err != nil {
		f.tb.Fatal(err)
	}
}

func (f *feed) custom(tenant string) consume.Message {
	return f.event(tenant, events.Custom, events.CustomData{Name: "x"})
}

// wantAt compares the position of each ledger.
func (f *feed) wantAt(want map[string]uint64) {
	f.tb.Helper()
	for tenant, sequence := range want {
		at, err := newestPosition(auditortest.Deadline(f.tb), f.s.opts, tenant)
		if err != nil || at.Sequence != sequence {
			f.tb.Errorf("the ledger of %s is at %d, want %d: %v", tenant, at.Sequence, sequence, err)
		}
	}
}

func (f *feed) detach(tenant string) *backlog {
	f.tb.Helper()
	a, err := f.s.ledgers.detach(auditortest.Deadline(f.tb), tenant)
	if err != nil || a == nil {
		f.tb.Fatalf("set aside: %v, %v", a, err)
	}
	return a
}

//guarantee:scrub-parallel
func TestScrub_OthersGoOn(t *testing.T) {
	f := newFeed(t, auditortest.Connect(t, auditortest.Server(t)), t.TempDir())
	f.apply(f.custom("acme"), f.custom("other"))
	a := f.detach("acme")
	f.apply(f.custom("acme"), f.custom("other"))
	f.apply(f.custom("acme"))
	f.wantAt(map[string]uint64{"acme": 1, "other": 4})
	if at, err := f.s.projector.Position(t.Context()); err != nil || at.Sequence != 5 {
		t.Errorf("the position is %d, %v, want 5", at.Sequence, err)
	}
	f.s.ledgers.renewIdle(t.Context()) // skips the ledger during the scrub
	close(a.done)
	f.apply(f.custom("acme"))
	f.wantAt(map[string]uint64{"acme": 6, "other": 4})
	if len(f.s.ledgers.backlogs) > 0 || len(f.s.ledgers.scrubs.list()) != 0 {
		t.Errorf("the ledger still has a backlog, or is to be scrubbed: %v", f.s.ledgers.scrubs.list())
	}
	if err := f.s.close(); err != nil {
		t.Fatal(err)
	}
	if r := auditortest.Verify(t, f.s.opts.DataDir, "acme"); r.Integrity != verifier.Verified || r.Events != 4 || len(r.Gaps) > 0 {
		t.Errorf("%s, %d events, gaps %v", r.Integrity, r.Events, r.Gaps)
	}
}

//guarantee:scrub-parallel
func TestScrub_EndedMeanwhile(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	f := newFeed(t, b, dir)
	f.apply(f.custom("acme"), f.custom("other"))
	f.detach("acme")
	f.apply(f.custom("other"), f.custom("acme"))
	if err := f.s.close(); err == nil {
		t.Error("nothing told that messages are missing")
	}
	again := newFeed(t, b, dir)
	if again.s.projector.resumed.start.Sequence != 1 {
		t.Errorf("resumed after %d, want the missing messages to be read again", again.s.projector.resumed.start.Sequence)
	}
	if err := again.s.close(); err != nil {
		t.Error(err)
	}
}

//guarantee:slow-ledger
//guarantee:scrub-parallel
func TestScrub_WhatWaitsIsBounded(t *testing.T) {
	f := newFeed(t, auditortest.Connect(t, auditortest.Server(t)), t.TempDir())
	f.apply(f.custom("acme"))
	a := f.detach("acme")
	f.apply(f.message("acme", events.Custom, make([]byte, maxBacklogBytes)))
	ended, end := context.WithCancel(t.Context())
	end()
	batch := []consume.Message{f.custom("acme")}
	if err := f.s.projector.Apply(ended, batch, f.at); !errors.Is(err, context.Canceled) {
		t.Errorf("a batch that no room is left for: %v, want it to wait", err)
	}
	close(a.done)
	f.apply(batch...)
	f.wantAt(map[string]uint64{"acme": 3})
	if err := f.s.close(); err != nil {
		t.Error(err)
	}
}

//guarantee:scrub-parallel
func TestScrub_OrderComesMeanwhile(t *testing.T) {
	f := newFeed(t, auditortest.Connect(t, auditortest.Server(t)), t.TempDir())
	told := f.custom("acme")
	f.apply(told)
	r, err := ledger.OpenTenant(LedgerDir(f.s.opts.DataDir), "acme")
	if err != nil {
		t.Fatal(err)
	}
	e, err := events.Decode(told.Data)
	if err != nil {
		t.Fatal(err)
	}
	o, err := r.Orders().Resolve(t.Context(), ledger.Order{
		Action: events.AuditErase, ID: "o1", By: "jdoe", Reason: "asked to", Time: f.at.Stream, Selection: ledger.OrderSelection{Event: e.ID},
	})
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	key, err := writer.OpenKey(KeyDir(f.s.opts.DataDir))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := key.Sign(o)
	if err != nil {
		t.Fatal(err)
	}
	a := f.detach("acme")
	f.apply(f.event("acme", events.AuditAccessed, access.OrderRecord(o, string(signed))))
	close(a.done)
	f.apply(f.custom("other"))
	if list := f.s.ledgers.scrubs.due(); len(list) != 1 || list[0] != "acme" {
		t.Fatalf("to be scrubbed: %v, want acme", list)
	}
	f.s.scrubber.all(t.Context())
	if unclean, err := writer.Unclean(LedgerDir(f.s.opts.DataDir), "acme"); unclean || err != nil || len(f.s.ledgers.scrubs.list()) > 0 {
		t.Errorf("unclean: %v, %v, to be scrubbed: %v", unclean, err, f.s.ledgers.scrubs.list())
	}
	if err := f.s.close(); err != nil {
		t.Error(err)
	}
}

// Each attempt writes the whole file, so a failed scrub is retried after a growing pause. A
// scrub that a reader delays is retried without a pause.
//
//guarantee:scrub-parallel
func TestScrubs_Pause(t *testing.T) {
	var s scrubQueue
	s.add("acme", nil)
	s.add("beta", writer.ErrScrubLater)
	s.add("full", errors.New("disk full"))
	if due := s.due(); len(due) != 2 || len(s.list()) != 3 {
		t.Errorf("due: %v of %v", due, s.list())
	}
	if err := s.failure(); err == nil {
		t.Error("the full disk is not reported")
	}
	for range 10 {
		s.add("full", errors.New("disk full"))
	}
	if pause := s.tenants["full"].pause; pause != maxScrubPause {
		t.Errorf("pause %v, want %v", pause, maxScrubPause)
	}
	s.add("full", nil)
	if due := s.due(); len(due) != 3 {
		t.Errorf("after another order: %v, want all", due)
	}
}
