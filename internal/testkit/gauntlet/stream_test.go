package gauntlet

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// streamTrial attacks producers or the stream of its own tenant, before the auditor reads the
// stream.
type streamTrial struct {
	*testing.T

	world   *world
	tenant  string
	honest  *publish.Publisher
	mallory *publish.Publisher // the attacker's producer
	random  *rand.Rand

	messages []ledger.Message // of the tenant, in the stream
	event    events.Event     // target of the attack
	index    int              // of the target in messages
	note     any              // for the attack's own use
}

// streamAttack is an attack in phases. All tenants finish a phase before the next one starts.
type streamAttack struct {
	attack

	publish func(s *streamTrial) // nil means a run of a few calls
	tamper  func(s *streamTrial) // changes the stream
	holes   bool                 // tamper leaves holes in the stream
	silence time.Duration
	missed  func(s *streamTrial, r verifier.Report) string // describes what the report fails to say
}

// streams runs each attack on fifty tenants. Attacks that leave holes need their own stream,
// because a hole may concern any tenant.
func (g *gauntlet) streams(t *testing.T) {
	t.Helper()
	var whole []streamAttack
	for _, a := range streamAttacks() {
		if a.holes {
			g.runPhases(t, a)
		} else {
			whole = append(whole, a)
		}
	}
	g.runPhases(t, whole...)
}

func (g *gauntlet) runPhases(t *testing.T, list ...streamAttack) {
	t.Helper()
	w := newWorld(t)
	honest, mallory := w.producer(t, "honest"), w.producer(t, "mallory")
	stage := make([][]*streamTrial, len(list))
	each := func(do func(a streamAttack, s *streamTrial)) {
		for i, a := range list {
			for _, s := range stage[i] {
				do(a, s)
			}
		}
		flush(t, honest, mallory)
	}
	for i, a := range list {
		r := g.random(a.name)
		for trial := range trials {
			stage[i] = append(stage[i], &streamTrial{
				T: t, world: w, tenant: fmt.Sprintf("%s-%d", a.name, trial),
				honest: honest, mallory: mallory, random: r,
			})
		}
	}
	each(func(a streamAttack, s *streamTrial) {
		if a.publish == nil {
			s.run("run")
		} else {
			a.publish(s)
		}
	})
	all := w.everything(t)
	each(func(a streamAttack, s *streamTrial) {
		if s.messages = all[s.tenant]; a.tamper != nil {
			a.tamper(s)
		}
	})
	each(func(a streamAttack, s *streamTrial) {
		if a.holes { // the producer continues
			s.run("later")
		}
	})
	w.drain(t)
	for i, a := range list {
		t.Run(a.name, func(t *testing.T) { g.verifyTrials(t, a, stage[i]) })
	}
}

func (g *gauntlet) verifyTrials(t *testing.T, a streamAttack, list []*streamTrial) {
	t.Helper()
	row := g.add(a.attack)
	for trial, s := range list {
		s.T = t
		k := s.world.key(t)
		r, err := verifier.Verify(deadline(t), s.world.ledger(t, s.tenant), verifier.Options{
			Key: k.verifier, Tenant: s.tenant, Silence: a.silence,
		})
		if err != nil {
			t.Fatal(err)
		}
		row.compare(t, pyverify.Request{Path: r.Ledger, Key: k.Public(), Tenant: s.tenant, Silence: a.silence}, r)
		if a.missed != nil {
			if missed := a.missed(s, r); missed != "" {
				t.Errorf("trial %d: %s\ngaps: %+v\nunsealed %q, findings %+v", trial, missed, r.Gaps, r.Unsealed, r.Findings)
				row.tried++
				continue
			}
		}
		row.check(t, trial, r)
	}
}

func (s *streamTrial) run(name string) {
	sendRun(s, s.honest, s.tenant, name, 1+s.random.IntN(4))
}

func (s *streamTrial) choose() {
	s.Helper()
	for {
		s.index = s.random.IntN(len(s.messages))
		if m := s.messages[s.index]; !m.Address.Manifest {
			var err error
			if s.event, err = events.Decode(m.Data); err != nil {
				s.Fatal(err)
			}
			return
		}
	}
}

func (s *streamTrial) delete(sequence uint64) {
	s.Helper()
	if err := s.world.stream(s).DeleteMsg(deadline(s), sequence); err != nil {
		s.Fatal(err)
	}
}

func (w *world) everything(tb testing.TB) map[string][]ledger.Message {
	tb.Helper()
	all := make(map[string][]ledger.Message)
	for _, m := range w.messages(tb, "") {
		all[m.Address.Tenant] = append(all[m.Address.Tenant], m)
	}
	return all
}

// wantGap returns an error text, or "" if r has a gap of the producer that includes n.
func wantGap(r verifier.Report, producer string, n uint64, cause verifier.Cause) string {
	for _, g := range r.Gaps {
		if g.Producer == producer && g.First <= n && n <= g.Last && g.Cause == cause {
			return ""
		}
	}
	return fmt.Sprintf("no gap of %s names #%d as %s", producer, n, cause)
}

func wantFinding(r verifier.Report, producer string, want ledger.Finding) string {
	if r.SetApart == 1 && r.Findings[0].Finding == want && r.Findings[0].Producer == producer {
		return ""
	}
	return fmt.Sprintf("not one finding, %s by %s", want, producer)
}
