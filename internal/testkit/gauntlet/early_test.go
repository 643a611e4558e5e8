package gauntlet

import (
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/asof"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// early verifies ledgers that lack events of the stream.
func (g *gauntlet) early(t *testing.T) {
	t.Helper()
	stream := attack{
		name: "Early", what: "a verification before the auditor has read the stream to its end", has: "nothing",
		alone: "VERIFIED, UNPROVEN (11)", seen: "how many events the stream has beyond the ledger",
	}
	outbox := attack{
		name: "EarlyOutbox", what: "a verification while events wait in an outbox of the data directory", has: "nothing",
		alone: "VERIFIED, UNPROVEN (11)", seen: "the outbox, and how many",
	}
	t.Run(stream.name, func(t *testing.T) {
		inStream, inOutbox, w := g.add(stream), g.add(outbox), g.damagedWorld(t, stream.name)
		w.runs(t, "read")
		w.drain(t)
		later := w.runs(t, "later")
		for trial, tenant := range w.list {
			r := w.verifyAsOf(t, inStream, tenant)
			want := int64(later[tenant].Last-later[tenant].First) + 2 // with the seal
			if r.AsOf.Later == nil || r.AsOf.Later.Events != want {
				t.Errorf("trial %d: got %+v, want %d events", trial, r.AsOf.Later, want)
			}
			inStream.check(t, trial, r)
		}
		w.drain(t)
		for trial, tenant := range w.list {
			if r := w.verifyAsOf(t, inStream, tenant); r.Exit != verifier.ExitVerified {
				t.Errorf("trial %d: got %s after a drain: %+v", trial, r.Completeness, r.AsOf)
			}
			n := 1 + w.random.IntN(4)
			w.wait(t, tenant, n)
			r := w.verifyAsOf(t, inOutbox, tenant)
			if boxes := r.AsOf.Outboxes; len(boxes) != 1 || boxes[0].Outbox != "shared" || boxes[0].Events != uint64(n) {
				t.Errorf("trial %d: got %+v, want %d events", trial, boxes, n)
			}
			inOutbox.check(t, trial, r)
		}
	})
}

// verifyAsOf verifies a ledger like auditor verify with a broker. The second verifier judges only
// the file.
func (w *world) verifyAsOf(t *testing.T, row *attack, tenant string) verifier.Report {
	t.Helper()
	path := w.ledger(t, tenant)
	r, done := reader(t, path)
	defer done()
	q := asof.Ask(deadline(t), asof.Options{
		Tenant: tenant, Ledger: r, DataDir: w.dir, JetStream: w.broker.JetStream(), Space: w.broker.Space(),
	})
	report := row.verify(t, path, tenant, w.key(t), nil)
	report.SetAsOf(q.Answer(deadline(t), ledgertest.Newest(t, path)))
	return report
}

func (w *world) wait(t *testing.T, tenant string, n int) {
	t.Helper()
	for range n {
		e, err := events.New(events.Custom, "/gauntlet", events.CustomData{Name: "unsent"})
		if err != nil {
			t.Fatal(err)
		}
		e.Tenant = tenant
		dir := filepath.Join(w.dir, "outbox", "shared")
		if _, err := publish.AppendShared(t.Context(), dir, publish.SharedOptions{Redactor: publish.NoRedaction}, e); err != nil {
			t.Fatal(err)
		}
	}
}

func (g *gauntlet) empty(t *testing.T) {
	t.Helper()
	a := attack{name: "Empty", what: "a ledger without records", has: "nothing", alone: "VERIFIED, EMPTY (11)"}
	t.Run(a.name, func(t *testing.T) {
		row, own := g.add(a), ledgertest.NewKey(t)
		for trial, tenant := range tenants(a.name) {
			path := ledgertest.Write(t, t.TempDir(), own, ledgertest.NewFeed(tenant), 1)
			row.check(t, trial, row.verify(t, path, tenant, &key{Key: own, verifier: ledgertest.VerifierOf(own)}, nil))
		}
	})
}
