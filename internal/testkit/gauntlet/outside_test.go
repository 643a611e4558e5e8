package gauntlet

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// outsideTrial is a tenant in whose ledger the records before and behind a time, or of two runs, are
// judged together. A bundle has only one of these parts.
type outsideTrial struct {
	*testing.T

	world           *world
	honest, mallory *publish.Publisher
	tenant          string
}

// outsideAttack publishes records before and behind a time.
type outsideAttack struct {
	attack

	before, behind func(s *outsideTrial)
	runs           []string // bundles of one of these runs; otherwise of either side of the time
}

func outsideAttacks() []outsideAttack {
	custom := func(e *events.Event) { e.ID = "taken-" + e.Tenant }
	call := func(e *events.Event) { e.ToolCall = "denied" }
	recorded := func(p *publish.Publisher, s *outsideTrial, d events.ToolBeforeData) {
		send(s, p, s.tenant, "day", events.ToolBefore, d, custom)
	}
	args := []byte(`{"command":"ls"}`)
	return []outsideAttack{
		{
			attack: attack{
				name: "BundleDeniedResult", what: "a successful result for another producer's denied call, in the bundle of a time between them",
				has: "a producer", alone: "VERIFIED, COMPLETE (12)", seen: "both leaves",
			},
			before: func(s *outsideTrial) {
				send(s, s.honest, s.tenant, "day", events.ToolBefore, events.ToolBeforeData{Tool: "Bash", Outcome: events.Outcome{Verdict: events.VerdictDeny}}, call)
			},
			behind: func(s *outsideTrial) {
				send(s, s.mallory, s.tenant, "day", events.ToolResult, events.ToolResultData{Tool: "Bash", Status: events.ToolSuccess}, call)
			},
		},
		{
			attack: attack{
				name: "BundleIDTaken", what: "another producer's event with an id that is taken in another run, in the bundle of either run",
				has: "a producer", alone: "VERIFIED, COMPLETE (12)", seen: "a finding",
			},
			before: func(s *outsideTrial) {
				send(s, s.mallory, s.tenant, "other", events.Custom, events.CustomData{Name: "harmless"}, custom)
				sendRun(s, s.mallory, s.tenant, "other", 1)
			},
			behind: func(s *outsideTrial) {
				send(s, s.honest, s.tenant, "run", events.Custom, events.CustomData{Name: "real"}, custom)
				sendRun(s, s.honest, s.tenant, "run", 1)
			},
			runs: []string{"run", "other"},
		},
		{
			attack: attack{
				name: "BundleForeign", what: "a number of a producer used in another run, in the bundle of a run",
				has: "no credentials", alone: "VERIFIED, COMPLETE, FOREIGN (11)", seen: "the foreign record",
			},
			before: func(s *outsideTrial) { sendRun(s, s.honest, s.tenant, "run", 1) },
			behind: func(s *outsideTrial) {
				e, err := events.New(events.Custom, "/forged", events.CustomData{Name: "forged"})
				if err != nil {
					s.Fatal(err)
				}
				e.Tenant, e.Producer, e.Sequence, e.Run = s.tenant, s.honest.Stats().Producer, 1_000_000, "ghost"
				s.world.raw(s, subjects.Address{Tenant: s.tenant, Producer: e.Producer, Run: e.Run, Kind: e.Kind()}, e.Encode())
			},
			runs: []string{"run"},
		},
		{
			attack: attack{
				name: "BundleRecordedTwice", what: "a hook payload recorded by a hook and later by an import, in the bundle of a time between them",
				has: "nothing", alone: "VERIFIED, COMPLETE (0)", seen: "that it was recorded twice",
			},
			before: func(s *outsideTrial) {
				executions := []events.Execution{{Hook: "h1", Success: true, DurationMS: 1, Verdict: events.VerdictNone}}
				recorded(s.honest, s, events.ToolBeforeData{Tool: "Bash", Args: args, Outcome: events.Outcome{Executions: executions}})
			},
			behind: func(s *outsideTrial) { recorded(s.mallory, s, events.ToolBeforeData{Tool: "Bash", Args: args}) },
		},
	}
}

// outside judges bundles that lack one of two records that belong together. They must say what the
// ledger says.
func (g *gauntlet) outside(t *testing.T) {
	t.Helper()
	w := newWorld(t)
	honest, mallory := w.producer(t, "honest"), w.producer(t, "mallory")
	attacks := outsideAttacks()
	stage := make([][]*outsideTrial, len(attacks))
	for i, a := range attacks {
		for _, tenant := range tenants(a.name) {
			s := &outsideTrial{T: t, world: w, honest: honest, mallory: mallory, tenant: tenant}
			a.before(s)
			stage[i] = append(stage[i], s)
		}
	}
	flush(t, honest, mallory)
	border := time.Now()
	for i, a := range attacks {
		for _, s := range stage[i] {
			a.behind(s)
		}
	}
	flush(t, honest, mallory)
	w.drain(t)
	key := w.key(t)
	for i, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			row, r := g.add(a.attack), g.random(a.name)
			for n, s := range stage[i] {
				s.T = t
				selection := a.selection(r, border)
				b := s.bundle(key, selection)
				row.compare(t, pyverify.Request{Path: b.Ledger, Key: key.Public(), Tenant: s.tenant}, b.Report)
				row.check(t, n, b.Report)
			}
		})
	}
}

func (a outsideAttack) selection(r *rand.Rand, border time.Time) ledger.Selection {
	if len(a.runs) > 0 {
		return ledger.Selection{Run: pick(r, a.runs)}
	}
	return pick(r, []ledger.Selection{{From: border, Stored: true}, {To: border, Stored: true}})
}

func (s *outsideTrial) bundle(k *key, selection ledger.Selection) bundle.Report {
	s.Helper()
	in, done := reader(s, s.world.ledger(s, s.tenant))
	defer done()
	file, err := os.Create(filepath.Join(s.TempDir(), "bundle.zip"))
	if err != nil {
		s.Fatal(err)
	}
	err = bundle.WriteBundle(deadline(s), file, in, bundle.Options{Selection: selection, Key: k.Public(), Signer: k.signer})
	if err != nil {
		s.Fatal(err)
	}
	if err := file.Close(); err != nil {
		s.Fatal(err)
	}
	b, err := bundle.Check(deadline(s), file.Name(), bundle.CheckOptions{Key: k.verifier, Tenant: s.tenant})
	if err != nil {
		s.Fatal(err)
	}
	return b
}
