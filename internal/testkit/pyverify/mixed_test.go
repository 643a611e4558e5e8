package pyverify_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/bundle/bundletest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
)

// A bundle with files of another genuine bundle of the same ledger is INVALID to both verifiers.
func TestVerifier_MixedBundles(t *testing.T) {
	v, key, f := start(t), ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	f.Open("p", time.Hour)
	f.Run("p", "r1", 3)
	f.Run("p", "r2", 3)
	f.Manifest("p")
	path := ledgertest.Write(t, t.TempDir(), key, f, 4)
	times := ledger.Selection{Stored: true, From: ledgertest.Began, To: ledgertest.Began.Add(3 * time.Second)}
	whole := bundletest.Open(t, export(t, key, path, ledger.Selection{}, false))
	r1 := bundletest.Open(t, export(t, key, path, ledger.Selection{Run: "r1"}, false))
	r2 := bundletest.Open(t, export(t, key, path, ledger.Selection{Run: "r2"}, false))
	part := bundletest.Open(t, export(t, key, path, times, false))
	unsigned := bundletest.Open(t, export(t, key, path, ledger.Selection{Run: "r1"}, true))
	for _, pair := range []struct {
		name     string
		to, from *bundletest.Opened
	}{{"OtherRun", r1, r2}, {"Whole", r1, whole}, {"RunInWhole", whole, r1}, {"TimeInRun", r1, part}, {"RunInTime", part, r1}, {"Unsigned", unsigned, r2}} {
		parts := [][]string{{"leaves.jsonl", "records.jsonl", "again.jsonl", "tree.txt"}, {"bundle.json", "selection.txt"}}
		for _, name := range pair.to.Names {
			parts = append(parts, []string{name})
		}
		for _, names := range parts {
			mixed, changed := pair.to.Clone(t), false
			for _, name := range names {
				changed = changed || mixed.Files[name] != pair.from.Files[name]
				mixed.Files[name] = pair.from.Files[name]
			}
			if !changed || names[0] == "SHA256SUMS" { // Pack makes it anew
				continue
			}
			file := filepath.Join(t.TempDir(), "mixed.zip")
			if err := os.WriteFile(file, mixed.Pack(), 0o600); err != nil {
				t.Fatal(err)
			}
			b, err := bundle.Check(t.Context(), file, bundle.CheckOptions{Key: ledgertest.VerifierOf(key)})
			if err != nil {
				t.Fatal(err)
			}
			its := v.Verify(t, pyverify.Request{Path: file, Key: key.Public()})
			if b.Exit != 40 || its.Exit != 40 {
				t.Errorf("%s, %q: exit %d, %s, second verifier %d, %s", pair.name, names, b.Exit, b.Completeness, its.Exit, its.Completeness)
			}
		}
	}
}

// Whatever changes in a bundle of a time, also if the ledger's key signs it again, both verifiers give
// the same verdict.
func TestVerifier_MutatedTime(t *testing.T) {
	v, key, f := start(t), ledgertest.NewKey(t), ledgertest.GauntletFeed()
	path := ledgertest.Write(t, t.TempDir(), key, f, 7)
	part := bundletest.Open(t, export(t, key, path, ledger.Selection{Stored: true, To: f.At()}, false))
	files := []string{"bundle.json", "leaves.jsonl", "records.jsonl", "again.jsonl", "tree.txt", "selection.txt", "checkpoint.txt", "witnessed.txt", "ledger.pub"}
	rng := rand.New(rand.NewPCG(12, 0))
	for i := range race.Size(25, 10) {
		o, name := part.Clone(t), files[rng.IntN(len(files))]
		text := []byte(o.Files[name])
		if len(text) == 0 {
			continue
		}
		at, other := rng.IntN(len(text)), `0123456789"{}[]:,truefalsnul-.eE `
		what := fmt.Sprintf("%d: %s at %d", i, name, at)
		switch rng.IntN(3) {
		case 0:
			text[at] = other[rng.IntN(len(other))]
		case 1:
			text = slices.Delete(text, at, at+1)
		case 2:
			text = slices.Insert(text, at, other[rng.IntN(len(other))])
		}
		o.Files[name] = string(text)
		if name != "selection.txt" && rng.IntN(2) == 0 {
			o.Resign(key.Signer())
		}
		file := filepath.Join(t.TempDir(), "mutated.zip")
		if err := os.WriteFile(file, o.Pack(), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := bundle.Check(t.Context(), file, bundle.CheckOptions{Key: ledgertest.VerifierOf(key)})
		if err != nil {
			t.Fatal(err)
		}
		if its := v.Verify(t, pyverify.Request{Path: file, Key: key.Public()}); b.Exit != its.Exit {
			t.Errorf("%s: exit %d, %s, second verifier %d, %s: %v, %s\n%.300s", what, b.Exit, b.Completeness, its.Exit, its.Completeness, b.Problems, its.Problem, text[max(0, at-100):])
		}
	}
}
