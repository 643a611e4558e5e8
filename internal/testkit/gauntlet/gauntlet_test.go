package gauntlet

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
)

// attack is a row of the table.
type attack struct {
	name  string // of the subtest
	what  string // text of the table
	has   string // access of the attacker
	alone string // required start of the verdict without a stored checkpoint
	kept  string // required verdict with a stored checkpoint; empty means any
	seen  string // expected findings besides the verdict, as text of the table
	clean bool   // nothing was attacked

	tried, found int // trials, and those with the required verdict
	second       *second
}

type gauntlet struct {
	seed   uint64
	second *pyverify.Verifier // nil if it cannot run

	mu      sync.Mutex // guards attacks and partial; stream and files run in parallel
	attacks []*attack
	partial bool // openssl is missing, so some attacks did not run
}

func newGauntlet(t *testing.T) *gauntlet {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("HOOKTRAIL_GAUNTLET_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("HOOKTRAIL_GAUNTLET_SEED: %v", err)
		}
	}
	t.Logf("HOOKTRAIL_GAUNTLET_SEED=%d", seed)
	return &gauntlet{seed: seed}
}

// random returns a source for one attack, independent of other attacks.
func (g *gauntlet) random(name string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return rand.New(rand.NewPCG(g.seed, h.Sum64()))
}

func (g *gauntlet) add(a attack) *attack {
	g.mu.Lock()
	defer g.mu.Unlock()
	a.second = &second{verifier: g.second}
	g.attacks = append(g.attacks, &a)
	return &a
}

// verdicts returns the verdicts without and with a stored checkpoint in the words of the table.
func verdicts(r verifier.Report) (alone, kept string) {
	words, status := fmt.Sprintf("%s, %s", r.Integrity, r.Completeness), verifier.ExitVerified
	if r.Completeness == verifier.Complete && r.ForeignCount > 0 {
		words += ", FOREIGN"
	}
	missing := r.RequireEnrolled && len(r.NotEnrolled) > 0
	if r.Completeness == verifier.Complete && missing {
		words += ", NOT ENROLLED"
	}
	switch {
	case r.Integrity != verifier.Verified:
		words, status = string(r.Integrity), verifier.ExitInvalid
	case r.Contradictions+r.DeniedResultCount > 0:
		status = verifier.ExitContradicts
	case r.Completeness != verifier.Complete || r.ForeignCount > 0 || missing:
		status = verifier.ExitIncomplete
	}
	alone = fmt.Sprintf("%s (%d)", words, status)
	switch {
	case r.Exit == verifier.ExitDiverged:
		return alone, fmt.Sprintf("diverged (%d)", r.Exit)
	case !strings.HasSuffix(alone, fmt.Sprintf("(%d)", r.Exit)):
		return alone, fmt.Sprintf("exit status %d", r.Exit)
	}
	return alone, alone
}

// check records a trial and fails it if a verdict is wrong. Without a stored checkpoint, both
// verdicts are equal.
func (a *attack) check(t *testing.T, trial int, r verifier.Report) {
	t.Helper()
	a.tried++
	alone, kept := verdicts(r)
	if !strings.HasPrefix(alone, a.alone) || !strings.HasPrefix(kept, a.kept) {
		t.Errorf("trial %d: got %s and %s, want %s and %s\nproblems: %q\ngaps: %+v\nunsealed %q, findings %+v, producers %+v",
			trial, alone, kept, a.alone, a.kept, r.Problems, r.Gaps, r.Unsealed, r.Findings, r.Producers)
		return
	}
	a.found++
}

// TestGauntlet runs all attacks and compares the results with the table in docs/guarantees.md.
//
//guarantee:second-verifier
func TestGauntlet(t *testing.T) {
	if *update {
		trials = trialsOfTable
	}
	g := newGauntlet(t)
	g.second = pyverify.Start(t)
	v := newVictim(t, g.random("victim"))
	t.Run("attacks", func(t *testing.T) {
		t.Run("streams", func(t *testing.T) {
			t.Parallel()
			g.streams(t)
		})
		t.Run("worlds", func(t *testing.T) {
			t.Parallel()
			g.recreated(t)
			g.purged(t)
			g.restored(t)
			g.early(t)
			g.empty(t)
			g.clean(t)
		})
		t.Run("producers", func(t *testing.T) {
			t.Parallel()
			g.producers(t)
		})
		t.Run("foreign", func(t *testing.T) {
			t.Parallel()
			g.foreign(t)
			g.enrolment(t)
		})
		t.Run("acknowledged", func(t *testing.T) {
			t.Parallel()
			g.acknowledged(t)
		})
		t.Run("orders", func(t *testing.T) {
			t.Parallel()
			g.orders(t)
		})
		t.Run("rewrites", func(t *testing.T) {
			t.Parallel()
			g.rewrites(t, v)
			g.clock(t, v)
		})
		t.Run("bundles", func(t *testing.T) {
			t.Parallel()
			g.bundles(t)
			g.outside(t)
		})
		t.Run("files", func(t *testing.T) {
			t.Parallel()
			g.files(t, v)
			g.anchors(t, v)
			g.stamps(t, v)
		})
	})
	for _, a := range g.attacks {
		if a.tried < trials {
			t.Errorf("%s: got %d trials, want %d", a.name, a.tried, trials)
		}
		if a.second.compared == 0 {
			t.Errorf("%s: the second verifier judged no trial", a.name)
		}
	}
	g.publish(t)
}
