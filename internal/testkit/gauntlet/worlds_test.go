package gauntlet

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// tenants has one tenant for each trial. A change of the stream affects all of them.
func tenants(name string) []string {
	list := make([]string, trials)
	for i := range list {
		list[i] = fmt.Sprintf("%s-%d", name, i)
	}
	return list
}

// runs publishes a run of random length for each tenant. It returns the numbers of its first and
// last event.
func runs(t *testing.T, p *publish.Publisher, r *rand.Rand, list []string, run string) map[string]events.Range {
	t.Helper()
	numbers := make(map[string]events.Range)
	for _, tenant := range list {
		first := send(t, p, tenant, run, events.RunStarted, events.RunStartedData{Title: "gauntlet"})
		sendCalls(t, p, tenant, run, r.IntN(4))
		last := send(t, p, tenant, run, events.RunFinished, events.RunFinishedData{Success: true})
		numbers[tenant] = events.Range{First: first.Sequence, Last: last.Sequence}
	}
	flush(t, p)
	return numbers
}

type damagedWorld struct {
	*world

	list   []string // tenants
	honest *publish.Publisher
	random *rand.Rand
}

func (g *gauntlet) damagedWorld(t *testing.T, name string) *damagedWorld {
	t.Helper()
	w := newWorld(t)
	return &damagedWorld{world: w, list: tenants(name), honest: w.producer(t, "honest"), random: g.random(name)}
}

func (w *damagedWorld) runs(t *testing.T, run string) map[string]events.Range {
	t.Helper()
	return runs(t, w.honest, w.random, w.list, run)
}

// verifyAll runs the auditor. Each ledger must report the break of the stream with its cause and
// the lost events, unless nothing shows them (nil).
func (w *damagedWorld) verifyAll(t *testing.T, row *attack, replaced bool, lost map[string]events.Range) {
	t.Helper()
	w.drain(t)
	for trial, tenant := range w.list {
		report, missed := row.verify(t, w.ledger(t, tenant), tenant, w.key(t), nil), ""
		if lost != nil {
			missed = wantRange(report, lost[tenant])
		}
		if missed != "" || !broke(report, replaced) {
			t.Errorf("trial %d: %s, breaks %+v", trial, missed, report.Breaks)
		}
		row.check(t, trial, report)
	}
}

// recreated deletes and recreates the stream while the auditor is stopped.
func (g *gauntlet) recreated(t *testing.T) {
	t.Helper()
	a := attack{
		name: "StreamRecreated", what: "the stream deleted and made again while the auditor is away", has: "the stream",
		alone: "VERIFIED, GAPS (11)", seen: "that it was, producer and numbers of what nobody read",
	}
	t.Run(a.name, func(t *testing.T) {
		row, w := g.add(a), g.damagedWorld(t, a.name)
		w.runs(t, "read")
		w.drain(t)
		lost := w.runs(t, "lost")
		if err := w.broker.JetStream().DeleteStream(deadline(t), w.broker.Space().EventStream()); err != nil {
			t.Fatal(err)
		}
		w.server.EnsureStreams(t)
		w.runs(t, "later")
		w.verifyAll(t, row, true, lost)
	})
}

func wantRange(r verifier.Report, n events.Range) string {
	return wantGap(r, r.Producers[0].Name, n.First, verifier.CauseStream) + wantGap(r, r.Producers[0].Name, n.Last, verifier.CauseStream)
}

func broke(r verifier.Report, replaced bool) bool {
	return len(r.Breaks) == 1 && r.Breaks[0].Replaced == replaced
}

// purged purges the stream while the auditor is stopped. Only a later message would show the loss.
func (g *gauntlet) purged(t *testing.T) {
	t.Helper()
	a := attack{
		name: "StreamPurgedWhole", what: "the stream emptied while the auditor is away", has: "the stream",
		alone: "VERIFIED, UNPROVEN (11)", seen: "that it broke off",
	}
	b := attack{
		name: "StreamPurgedWholeLater", what: "the same, when producers have gone on", has: "the stream",
		alone: "VERIFIED, GAPS (11)", seen: "producer and numbers",
	}
	t.Run(a.name, func(t *testing.T) {
		first, later, w := g.add(a), g.add(b), g.damagedWorld(t, a.name)
		w.runs(t, "read")
		w.drain(t)
		lost := w.runs(t, "lost")
		if err := w.stream(t).Purge(deadline(t)); err != nil {
			t.Fatal(err)
		}
		w.verifyAll(t, first, false, nil)
		w.runs(t, "later")
		w.verifyAll(t, later, false, lost)
	})
}

// restored replaces the store of the stream by an older copy while no process runs.
func (g *gauntlet) restored(t *testing.T) {
	t.Helper()
	a := attack{
		name: "StreamRestored", what: "the stream restored from an older copy, its sequences used again", has: "the stream",
		alone: "VERIFIED", seen: "that it was",
	}
	t.Run(a.name, func(t *testing.T) {
		row, w := g.add(a), g.damagedWorld(t, a.name)
		w.runs(t, "first")
		w.server.Stop()
		backup := t.TempDir()
		if err := os.CopyFS(backup, os.DirFS(w.server.Dir())); err != nil {
			t.Fatal(err)
		}
		w.server.Restart(t)
		w.runs(t, "second")
		w.drain(t)
		w.server.Stop()
		if err := os.RemoveAll(w.server.Dir()); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(w.server.Dir(), os.DirFS(backup)); err != nil {
			t.Fatal(err)
		}
		w.server.Restart(t)
		other := w.producer(t, "other")
		runs(t, other, w.random, w.list, "third")
		w.verifyAll(t, row, true, nil)
	})
}

// clean runs histories with faults of honest systems: repeated batches and imports, lost positions
// and ledgers. In the second row another client acknowledged all messages that the auditor had not
// read.
func (g *gauntlet) clean(t *testing.T) {
	t.Helper()
	a := attack{
		name: "Clean", what: "nothing at all: deliveries doubled, positions and ledgers lost and read again, imports repeated",
		has: "nothing", alone: "VERIFIED, COMPLETE (0)", kept: "VERIFIED, COMPLETE (0)", seen: "no finding", clean: true,
	}
	b := attack{
		name: "ConsumerAcks", what: "a consumer that acknowledges without writing", has: "the stream",
		alone: "VERIFIED, COMPLETE (0)", kept: "VERIFIED, COMPLETE (0)", seen: "everything is read again",
	}
	t.Run(a.name, func(t *testing.T) {
		rowA, rowB, r, w := g.add(a), g.add(b), g.random(a.name), newWorld(t)
		clean, acked := tenants(a.name), tenants(b.name)
		all := append(append([]string(nil), clean...), acked...)
		p, q := w.producer(t, "honest"), w.producer(t, "import")
		kept := make(map[string][]byte)
		for round := range 3 {
			name := fmt.Sprint("run ", round)
			runs(t, p, r, all, name)
			runs(t, q, r, clean, "also "+name)
			w.disturb(t, r, q, clean)
			if round == 1 {
				w.acknowledge(t)
			}
			w.drain(t)
			for _, tenant := range all {
				kept[tenant] = []byte(verify(t, w.ledger(t, tenant), tenant, w.key(t), kept[tenant]).Checkpoint.Note)
			}
		}
		for trial := range trials {
			rowA.check(t, trial, rowA.verify(t, w.ledger(t, clean[trial]), clean[trial], w.key(t), kept[clean[trial]]))
			rowB.check(t, trial, rowB.verify(t, w.ledger(t, acked[trial]), acked[trial], w.key(t), kept[acked[trial]]))
		}
	})
}

// disturb causes such faults for each tenant.
func (w *world) disturb(t *testing.T, r *rand.Rand, p *publish.Publisher, list []string) {
	t.Helper()
	all := w.everything(t)
	for _, tenant := range list {
		m := pick(r, all[tenant])
		switch r.IntN(3) {
		case 0: // stored twice
			w.again(t, m)
		case 1: // imported again
			e, err := events.Decode(m.Data)
			if err == nil && e.Kind() != events.RunSealed {
				send(t, p, tenant, e.Run, e.Kind(), nil, func(o *events.Event) { *o = e })
			}
		case 2: // the ledger is lost
			if err := os.RemoveAll(filepath.Dir(w.ledger(t, tenant))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if r.IntN(2) == 0 {
		if err := os.RemoveAll(filepath.Join(auditor.LedgerDir(w.dir), "auditor.db")); err != nil {
			t.Fatal(err)
		}
	}
	flush(t, p)
}

func (w *world) again(t *testing.T, m ledger.Message) {
	t.Helper()
	if !m.Address.Manifest {
		w.raw(t, m.Address, m.Data)
		return
	}
	subject, err := w.broker.Space().Chain(m.Address.Tenant, m.Address.Producer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.broker.JetStream().Publish(deadline(t), subject, m.Data); err != nil {
		t.Fatal(err)
	}
}

// acknowledge acknowledges the messages of the auditor's durable without writing them.
func (w *world) acknowledge(t *testing.T) {
	t.Helper()
	name, err := w.broker.Space().Durable("auditor", "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.broker.JetStream().Consumer(deadline(t), w.broker.Space().EventStream(), name)
	if err != nil {
		t.Fatal(err)
	}
	info, err := c.Info(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if info.NumPending == 0 {
		t.Fatal("nothing waits for the auditor")
	}
	for left := int(info.NumPending); left > 0; {
		batch, err := c.FetchNoWait(min(left, 500))
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for m := range batch.Messages() {
			if err := m.Ack(); err != nil {
				t.Fatal(err)
			}
			got++
		}
		if left -= got; got == 0 {
			t.Fatalf("%d messages of %d did not come", left, info.NumPending)
		}
	}
	if err := w.broker.Conn().FlushWithContext(deadline(t)); err != nil {
		t.Fatal(err)
	}
}
