package gauntlet

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// foreignAttack is an attack on a producer with the rights of a guest of the embedded server.
type foreignAttack struct {
	attack

	auth             broker.AuthMode
	manifest, events bool
}

// Verdicts about foreign manifests alone, and about foreign events with numbers of the producer.
const (
	foreignVerdict       = "VERIFIED, COMPLETE, FOREIGN (11)"
	foreignEventsVerdict = "VERIFIED, COMPLETE, FOREIGN (12)"
)

func foreignAttacks() []foreignAttack {
	return []foreignAttack{
		{
			attack: attack{name: "GuestRewrites", what: "coming numbers of a producer listed as missing, and harmless events with a seal under them", has: "no credentials"},
			auth:   broker.AuthOpen, manifest: true, events: true,
		},
		{
			attack: attack{name: "EngineRewrites", what: "coming numbers of a producer listed as missing, and harmless events with a seal under them", has: "an engine's key"},
			auth:   broker.AuthRequired, manifest: true, events: true,
		},
		{
			attack: attack{name: "GuestsManifest", what: "a manifest appended to the chain of a producer", has: "no credentials"},
			auth:   broker.AuthOpen, manifest: true,
		},
		{
			attack: attack{name: "GuestsEvents", what: "events under the coming numbers of a producer", has: "no credentials"},
			auth:   broker.AuthOpen, events: true,
		},
	}
}

// foreign runs the attacks of guests. The producer must not lose an event, and no exit status may
// be 0.
func (g *gauntlet) foreign(t *testing.T) {
	t.Helper()
	for _, auth := range []broker.AuthMode{broker.AuthOpen, broker.AuthRequired} {
		w := newEmbeddedWorld(t, auth)
		var list []foreignAttack
		for _, a := range foreignAttacks() {
			if a.auth == auth {
				list = append(list, a)
			}
		}
		g.attackEmbedded(t, w, list)
	}
}

func newEmbeddedWorld(tb testing.TB, auth broker.AuthMode) *world {
	tb.Helper()
	w := &world{dir: tb.TempDir()}
	b, err := broker.Open(deadline(tb), broker.Options{DataDir: w.dir, Auth: auth, StreamMaxBytes: streamBytes})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := b.Close(deadline(tb)); err != nil {
			tb.Errorf("close broker: %v", err)
		}
	})
	w.broker = b
	return w
}

type foreignTrial struct {
	tenant string
	forged int // messages
	sent   []events.Event
}

func (g *gauntlet) attackEmbedded(t *testing.T, w *world, list []foreignAttack) {
	t.Helper()
	honest := w.producer(t, "honest")
	producer := honest.Stats().Producer
	stage := make([][]*foreignTrial, len(list))
	for i, a := range list {
		for _, tenant := range tenants(a.name) {
			stage[i] = append(stage[i], &foreignTrial{tenant: tenant})
			sendRun(t, honest, tenant, "run", 1)
		}
	}
	flush(t, honest)
	for i, a := range list {
		r := g.random(a.name)
		for _, trial := range stage[i] {
			trial.forged = w.guest(t, a.auth, trial.tenant).attack(a, r, trial.tenant, producer)
		}
	}
	for i := range list {
		for _, trial := range stage[i] {
			trial.send(t, honest)
		}
	}
	flush(t, honest)
	if s := honest.Stats(); s.Producer != producer || s.Pending != 0 {
		t.Errorf("the producer was stopped or changed its id: %+v", s)
	}
	w.drain(t)
	for i, a := range list {
		a.alone, a.seen = foreignVerdict, "each foreign record, and no event is lost"
		if a.events {
			a.alone = foreignEventsVerdict
		}
		t.Run(a.name, func(t *testing.T) {
			row := g.add(a.attack)
			for n, trial := range stage[i] {
				report := row.verify(t, w.ledger(t, trial.tenant), trial.tenant, w.key(t), nil)
				if missed := trial.missed(t, w, report); missed != "" {
					t.Errorf("trial %d: %s\nforeign: %+v", n, missed, report.Foreign)
				}
				row.check(t, n, report)
			}
		})
	}
}

func (f *foreignTrial) send(t *testing.T, honest *publish.Publisher) {
	t.Helper()
	call := func(e *events.Event) { e.ToolCall = "denied" }
	f.sent = append(f.sent,
		send(t, honest, f.tenant, "later", events.RunStarted, events.RunStartedData{Title: "gauntlet"}),
		send(t, honest, f.tenant, "later", events.ToolBefore, events.ToolBeforeData{
			Tool: "Bash", Outcome: events.Outcome{Verdict: events.VerdictDeny, Reason: "policy"},
		}, call),
	)
	for range 8 {
		f.sent = append(f.sent, send(t, honest, f.tenant, "later", events.Custom, events.CustomData{Name: "tick"}))
	}
	f.sent = append(f.sent, send(t, honest, f.tenant, "later", events.RunFinished, events.RunFinishedData{Success: true}))
}

// guest connects without credentials, or as an engine of the tenant.
func (w *world) guest(t *testing.T, auth broker.AuthMode, tenant string) *guest {
	t.Helper()
	var opts []nats.Option
	if auth == broker.AuthRequired {
		_, seed, err := broker.AddTenant(w.dir, tenant)
		file := filepath.Join(t.TempDir(), "engine.nk")
		if err == nil {
			err = os.WriteFile(file, seed, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		key, err := nats.NkeyOptionFromSeed(file)
		if err != nil {
			t.Fatal(err)
		}
		opts = append(opts, key)
	}
	nc, err := nats.Connect(w.broker.URL(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return &guest{T: t, nc: nc, space: w.broker.Space()}
}

type guest struct {
	*testing.T

	nc    *nats.Conn
	space subjects.Space
}

// attack continues the chain of a producer and publishes events with its numbers. It returns the
// number of forged messages.
func (g *guest) attack(a foreignAttack, r *rand.Rand, tenant, producer string) (forged int) {
	g.Helper()
	defer g.nc.Close()
	last, prev := g.lastManifest(tenant, producer)
	n := 1 + r.IntN(12)
	if a.manifest {
		m := events.Manifest{
			Version: 1, Tenant: tenant, Producer: producer, First: last + 1, Last: last + uint64(n), Prev: prev,
			Root: events.BatchRoot(nil).String(),
		}
		if r.IntN(3) == 0 {
			m.Last = 1e15
		}
		m.Missing = []events.Range{{First: m.First, Last: m.Last, Reason: pick(r, []string{"", "shed", "refused"})}}
		if r.IntN(2) == 0 {
			m = ledgertest.Sign(m, ledgertest.ProducerKey("stranger"))
		}
		subject, err := g.space.Chain(tenant, producer)
		g.publish(subject, m.Encode(), err)
		forged++
	}
	if !a.events {
		return forged
	}
	run := pick(r, []string{"later", "ghost"})
	c := chain{next: last + 1, runs: make(map[string]*sealing)}
	for i := range n {
		kind, payload := events.Custom, any(events.CustomData{Name: "harmless"})
		if i > 0 && i == n-1 {
			kind, payload = events.RunSealed, events.RunSealedData{Digest: events.HashOf(nil).String()}
		}
		e, err := events.New(kind, "/forged", payload)
		if err != nil {
			g.Fatal(err)
		}
		e.Tenant, e.Producer, e.Sequence, e.Run, e.Subject, e.Salt = tenant, producer, last+1+uint64(i), run, run, events.NewSalt()
		if kind == events.RunSealed {
			c.seal(g, &e)
		}
		data := e.Encode()
		if kind != events.RunSealed {
			c.count(e, events.HashOf(data))
		}
		subject, err := g.space.Event(tenant, producer, run, kind)
		g.publish(subject, data, err)
		forged++
	}
	return forged
}

func (g *guest) publish(subject string, data []byte, err error) {
	g.Helper()
	if err == nil {
		_, err = g.nc.RequestWithContext(deadline(g), subject, data)
	}
	if err != nil {
		g.Fatal(err)
	}
}

func (g *guest) lastManifest(tenant, producer string) (last uint64, hash string) {
	g.Helper()
	subject, err := g.space.Chain(tenant, producer)
	if err != nil {
		g.Fatal(err)
	}
	msg, err := g.nc.RequestWithContext(deadline(g), "$JS.API.DIRECT.GET."+g.space.EventStream()+"."+subject, nil)
	if err != nil {
		g.Fatal(err)
	}
	m, err := events.DecodeManifest(msg.Data)
	if err != nil {
		g.Fatal(err)
	}
	return m.Last, events.HashOf(msg.Data).String()
}

func (f *foreignTrial) missed(t *testing.T, w *world, r verifier.Report) string {
	t.Helper()
	if int(r.ForeignCount) != f.forged {
		return fmt.Sprintf("%d foreign records, want %d", r.ForeignCount, f.forged)
	}
	held := make(map[string]ledger.Entry)
	in, done := reader(t, w.ledger(t, f.tenant))
	defer done()
	for e, err := range in.After(deadline(t), -1) {
		if err != nil {
			t.Fatal(err)
		}
		held[e.ID] = e
	}
	for _, e := range f.sent {
		if !bytes.Equal(held[e.ID].Bytes, e.Encode()) {
			return fmt.Sprintf("the producer's #%d was lost", e.Sequence)
		}
	}
	return ""
}
