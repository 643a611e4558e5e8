package gauntlet

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// acknowledged runs attacks that hide behind the owner's acknowledgement of an unproven event.
// The verdict stays, and --allow-acknowledged gives 0 only for that event.
func (g *gauntlet) acknowledged(t *testing.T) {
	t.Helper()
	const unproven, gaps = "VERIFIED, UNPROVEN (11)", "VERIFIED, GAPS (11)"
	attacks := []struct {
		attack
		before, hide func(s *ghostTrial)
	}{
		{attack: attack{name: "GhostAcknowledged", what: "a ghost event that the ledger's owner acknowledges", has: "nothing", alone: unproven, seen: "who acknowledged it; with `--allow-acknowledged` 0"}},
		{
			attack: attack{name: "GhostAgain", what: "another event of a ghost that is acknowledged", has: "no credentials", alone: unproven, seen: "a new finding, also with `--allow-acknowledged`"},
			hide:   func(s *ghostTrial) { s.ghost(2) },
		},
		{
			attack: attack{name: "AcknowledgeForged", what: "numbers lost, and an order to acknowledge them with a key of their own", has: "a producer", alone: gaps, seen: "the gap as new, also with `--allow-acknowledged`"},
			before: (*ghostTrial).lost,
			hide:   func(s *ghostTrial) { s.acknowledge(s.thief, s.matter(verifier.MatterGap)) },
		},
		{
			attack: attack{name: "AcknowledgedGrows", what: "more numbers lost next to a gap that is acknowledged", has: "a producer", alone: gaps, seen: "a new gap, also with `--allow-acknowledged`"},
			before: (*ghostTrial).lost,
			hide: func(s *ghostTrial) {
				s.acknowledge(s.key, s.matter(verifier.MatterGap))
				s.next += uint64(1 + s.random.IntN(3))
				s.send()
			},
		},
	}
	w := newWorld(t)
	honest := w.producer(t, "honest")
	thief := openKey(t, t.TempDir())
	stage := make([][]*ghostTrial, len(attacks))
	for i, a := range attacks {
		r := g.random(a.name)
		for _, tenant := range tenants(a.name) {
			sendRun(t, honest, tenant, "run", 1)
			s := &ghostTrial{T: t, world: w, honest: honest, tenant: tenant, random: r, thief: thief}
			if s.ghost(1); a.before != nil {
				a.before(s)
			}
			stage[i] = append(stage[i], s)
		}
	}
	flush(t, honest)
	w.drain(t)
	key := w.key(t)
	for i, a := range attacks {
		for _, s := range stage[i] {
			s.key = key
			if s.acknowledge(key, s.matter(verifier.MatterUnproven)); a.hide != nil {
				a.hide(s)
			}
		}
	}
	flush(t, honest)
	w.drain(t)
	for i, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			row := g.add(a.attack)
			for n, s := range stage[i] {
				s.T = t
				r := s.verify(true)
				row.compare(t, s.request(true), r)
				if (r.Exit == verifier.ExitVerified) != (a.hide == nil) || r.AcknowledgedCount == 0 && a.hide == nil {
					t.Errorf("trial %d: exit %d with --allow-acknowledged: %+v", n, r.Exit, r.Matters)
				}
				r = s.verify(false)
				row.compare(t, s.request(false), r)
				row.check(t, n, r)
			}
		})
	}
}

// ghostTrial is a tenant with a producer that sends no manifests.
type ghostTrial struct {
	*testing.T

	world      *world
	honest     *publish.Publisher
	tenant     string
	random     *rand.Rand
	key, thief *key
	next       uint64 // of the attacker's outbox
	prev       string
}

func (s *ghostTrial) verify(allow bool) verifier.Report {
	s.Helper()
	r, err := verifier.Verify(deadline(s), s.world.ledger(s, s.tenant), verifier.Options{
		Key: s.world.key(s).verifier, Tenant: s.tenant, AllowAcknowledged: allow,
	})
	if err != nil {
		s.Fatal(err)
	}
	return r
}

func (s *ghostTrial) request(allow bool) pyverify.Request {
	s.Helper()
	return pyverify.Request{Path: s.world.ledger(s, s.tenant), Key: s.world.key(s).Public(), Tenant: s.tenant, AllowAcknowledged: allow}
}

func (s *ghostTrial) matter(kind verifier.MatterKind) string {
	s.Helper()
	r := s.verify(true)
	for _, m := range r.Matters {
		if m.Kind == kind {
			return m.ID
		}
	}
	s.Fatalf("no %s: %+v", kind, r.Matters)
	return ""
}

func (s *ghostTrial) acknowledge(k *key, id string) {
	s.Helper()
	o := ledger.Order{
		Tenant: s.tenant, Action: events.AuditAcknowledge, ID: events.NewID(), Time: time.Now().UTC(), By: "jdoe", Reason: "known",
		Findings: []string{id},
	}
	signed, err := k.Sign(o)
	if err != nil {
		s.Fatal(err)
	}
	send(s, s.honest, s.tenant, "", events.AuditAccessed, events.AuditAccessedData{Action: o.Action, By: o.By, Order: string(signed)})
}

func (s *ghostTrial) ghost(sequence uint64) {
	s.Helper()
	s.raw("ghost", sequence)
}

func (s *ghostTrial) raw(producer string, sequence uint64) events.Hash {
	s.Helper()
	e, err := events.New(events.Custom, "/ghost", events.CustomData{Name: fmt.Sprint(sequence)})
	if err != nil {
		s.Fatal(err)
	}
	e.Tenant, e.Producer, e.Sequence, e.Run, e.Subject = s.tenant, producer, sequence, "ghost", "ghost"
	data := e.Encode()
	s.world.raw(s, subjects.Address{Tenant: s.tenant, Producer: producer, Run: "ghost", Kind: events.Custom}, data)
	return events.HashOf(data)
}

// lost publishes the attacker's second event with a manifest that lists the first as lost.
func (s *ghostTrial) lost() {
	s.Helper()
	s.next = 2
	s.send()
}

// send publishes the next event of the attacker's producer, and a manifest for all numbers since
// the last.
func (s *ghostTrial) send() {
	s.Helper()
	hash := s.raw("loser", s.next)
	first := uint64(1)
	if s.prev != "" {
		first = 3
	}
	m := events.Manifest{
		Version: 1, Tenant: s.tenant, Producer: "loser", First: first, Last: s.next, Count: 1, Prev: s.prev,
		Root:    events.BatchRoot([]events.Hash{hash}).String(),
		Missing: []events.Range{{First: first, Last: s.next - 1, Reason: "shed"}},
	}
	if first == s.next {
		m.Missing = nil
	}
	data := m.Encode()
	s.prev = events.HashOf(data).String()
	s.world.raw(s, subjects.Address{Tenant: s.tenant, Producer: "loser", Manifest: true}, data)
	s.next++
}
