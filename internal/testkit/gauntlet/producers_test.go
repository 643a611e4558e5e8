package gauntlet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// unsent is the number of events that a producer accepts while the broker is down.
const unsent = 9

func (g *gauntlet) producers(t *testing.T) {
	t.Helper()
	g.outboxRemoved(t)
	g.producerKilled(t)
}

func (g *gauntlet) outboxRemoved(t *testing.T) {
	t.Helper()
	removed := attack{
		name: "OutboxRemoved", what: "nine accepted events that the broker has not got, by killing the process and removing its outbox",
		has: "the data directory", alone: "VERIFIED, UNPROVEN (11)", seen: "the outbox",
	}
	restarted := attack{
		name: "OutboxRemovedRestart", what: "the same, and the services start again", has: "the data directory",
		alone: "VERIFIED, UNPROVEN (11)", seen: "producer and outbox",
	}
	finished := attack{
		name: "OutboxRemovedFinished", what: "the same, and a new outbox finishes the run of the lost one", has: "the data directory",
		alone: "VERIFIED, UNPROVEN (11)", seen: "producer and outbox",
	}
	t.Run(removed.name, func(t *testing.T) {
		now, later, ended, w, list := g.add(removed), g.add(restarted), g.add(finished), newWorld(t), tenants(removed.name)
		for _, tenant := range list {
			w.vanish(t, tenant, "begun")
		}
		w.drain(t)
		for trial, tenant := range list {
			if err := os.RemoveAll(w.outboxOf(tenant)); err != nil {
				t.Fatal(err)
			}
			r := w.verifyAsOf(t, now, tenant)
			if m := r.AsOf.Missing; len(m) != 1 || m[0].Outbox != tenant {
				t.Errorf("trial %d: missing %+v", trial, m)
			}
			now.check(t, trial, r)
		}
		for range 3 { // only the first round records losses
			w.drain(t)
		}
		for trial, tenant := range list {
			r := later.verify(t, w.ledger(t, tenant), tenant, w.key(t), nil)
			if p := r.Producers[0]; p.Lost == nil && r.Producers[1].Lost == nil || r.SeenAgain > 0 {
				t.Errorf("trial %d: %+v", trial, r.Producers)
			}
			later.check(t, trial, r)
			next := w.open(t, w.broker.Conn(), tenant)
			send(t, next, tenant, "begun", events.RunFinished, events.RunFinishedData{Success: true})
			if err := next.Close(deadline(t)); err != nil {
				t.Fatal(err)
			}
		}
		w.drain(t)
		for trial, tenant := range list {
			ended.check(t, trial, ended.verify(t, w.ledger(t, tenant), tenant, w.key(t), nil))
		}
	})
}

func (g *gauntlet) producerKilled(t *testing.T) {
	t.Helper()
	killed := attack{
		name: "ProducerKilled", what: "nine accepted events that the broker has not got, by killing the process for good",
		has: "a producer", alone: "VERIFIED, UNPROVEN (11)", seen: "the producer, and since when it is silent",
	}
	replayed := attack{
		name: "HeartbeatReplayed", what: "the same, and its last heartbeat sent again", has: "an engine's key",
		alone: "VERIFIED, UNPROVEN (11)", seen: "the producer, and since when it is silent",
	}
	forged := attack{
		name: "ClosedForged", what: "the same, and its end forged with another key", has: "an engine's key",
		alone: "VERIFIED, UNPROVEN (11)", seen: "the producer, and the forged manifest",
	}
	taken := attack{
		name: "RunTakenOver", what: "the same, and another producer finishes its run", has: "a producer",
		alone: "VERIFIED, UNSEALED (11)", seen: "the run",
	}
	t.Run(killed.name, func(t *testing.T) {
		w, silent, others := newWorld(t), tenants(killed.name), tenants(taken.name)
		for trial, tenant := range silent {
			w.vanish(t, tenant, "")
			w.vanish(t, others[trial], "begun")
		}
		w.takeOver(t, others)
		row, rowOfOthers := g.add(killed), g.add(taken)
		w.drainLater(t, time.Hour)
		for trial, tenant := range silent {
			row.check(t, trial, w.wantSilent(t, row, tenant))
			rowOfOthers.check(t, trial, rowOfOthers.verify(t, w.ledger(t, others[trial]), others[trial], w.key(t), nil))
		}
		last := w.lastManifests(t, silent)
		row = g.add(replayed)
		for _, tenant := range silent {
			guest := w.guest(t, broker.AuthOpen, tenant)
			subject, err := guest.space.Chain(tenant, last[tenant].Producer)
			guest.publish(subject, last[tenant].Encode(), err)
			guest.nc.Close()
		}
		w.drainLater(t, 2*time.Hour)
		for trial, tenant := range silent {
			row.check(t, trial, w.wantSilent(t, row, tenant))
		}
		row = g.add(forged)
		for _, tenant := range silent {
			guest, m := w.guest(t, broker.AuthOpen, tenant), last[tenant]
			m.First, m.Count, m.Missing, m.Prev = m.Last+1, 0, nil, events.HashOf(m.Encode()).String()
			m.Root, m.State, m.Interval, m.Beat = events.BatchRoot(nil).String(), events.StateClosed, 0, m.Beat+1
			subject, err := guest.space.Chain(tenant, m.Producer)
			guest.publish(subject, ledgertest.Sign(m, ledgertest.ProducerKey("stranger")).Encode(), err)
			guest.nc.Close()
		}
		w.drainLater(t, 3*time.Hour)
		for trial, tenant := range silent {
			r := w.wantSilent(t, row, tenant)
			if r.ForeignCount != 1 {
				t.Errorf("trial %d: foreign %+v", trial, r.Foreign)
			}
			row.check(t, trial, r)
		}
	})
}

func (w *world) outboxOf(name string) string { return filepath.Join(w.dir, "outbox", name) }

func (w *world) open(t *testing.T, nc *nats.Conn, name string) *publish.Publisher {
	t.Helper()
	p, err := publish.Open(deadline(t), nc, publish.Options{
		Dir: w.outboxOf(name), Name: "http", Redactor: publish.NoRedaction, Heartbeat: time.Second, Journal: publish.JournalDir(w.dir),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// vanish opens an outbox, sends a run and begins another one. Then the broker stops, the outbox
// accepts more events, and its process ends.
func (w *world) vanish(t *testing.T, tenant, begun string) {
	t.Helper()
	nc, err := nats.Connect(w.broker.URL())
	if err != nil {
		t.Fatal(err)
	}
	p := w.open(t, nc, tenant)
	sendRun(t, p, tenant, "done", 1)
	if begun != "" {
		send(t, p, tenant, begun, events.RunStarted, events.RunStartedData{})
	}
	flush(t, p)
	nc.Close()
	for range unsent {
		send(t, p, tenant, begun, events.Custom, events.CustomData{Name: "denied"})
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = p.Close(ctx) // it cannot send
	})
}

func (w *world) takeOver(t *testing.T, list []string) {
	t.Helper()
	p := w.open(t, w.broker.Conn(), "successor")
	for _, tenant := range list {
		send(t, p, tenant, "begun", events.RunFinished, events.RunFinishedData{Success: true})
	}
	if err := p.Close(deadline(t)); err != nil {
		t.Fatal(err)
	}
}

func (w *world) drainLater(t *testing.T, ahead time.Duration) {
	t.Helper()
	err := auditor.Run(deadline(t), auditor.Options{
		Broker: w.broker, DataDir: w.dir, Drain: true, Now: func() time.Time { return time.Now().Add(ahead) },
	})
	if err != nil {
		t.Fatalf("drain: %v", err)
	}
}

func (w *world) wantSilent(t *testing.T, row *attack, tenant string) verifier.Report {
	t.Helper()
	r := row.verify(t, w.ledger(t, tenant), tenant, w.key(t), nil)
	if len(r.Producers) != 1 || !r.Producers[0].Silent || r.Producers[0].Heard.IsZero() {
		t.Errorf("tenant %s: %+v", tenant, r.Producers)
	}
	return r
}

func (w *world) lastManifests(t *testing.T, list []string) map[string]events.Manifest {
	t.Helper()
	all, last := w.everything(t), make(map[string]events.Manifest)
	for _, tenant := range list {
		for _, msg := range all[tenant] {
			if !msg.Address.Manifest {
				continue
			}
			m, err := events.DecodeManifest(msg.Data)
			if err != nil {
				t.Fatal(fmt.Errorf("manifest of %s: %w", tenant, err))
			}
			last[tenant] = m
		}
	}
	return last
}
