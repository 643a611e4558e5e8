package bundle

import (
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// The bundle of a run has no later manifests of its producers. They are not silent because of
// that, and have settled the run if they have in the ledger.
//
//guarantee:producer-silent
func TestCheck_AnnouncedLater(t *testing.T) {
	const interval = 10 * time.Minute
	for name, build := range map[string]func(f *ledgertest.Feed){
		"OtherRuns": func(f *ledgertest.Feed) {
			f.Open("p", interval)
			f.Run("p", "r1", 1)
		},
		"SealedByAnother": func(f *ledgertest.Feed) {
			f.Open("p", interval)
			f.Open("q", interval)
			f.Event("p", "r1", events.RunStarted, events.RunStartedData{})
			f.Manifest("p")
			f.Event("q", "r1", events.RunFinished, events.RunFinishedData{})
			f.Seal("q", "r1")
			f.Manifest("q")
			f.Run("q", "r2", 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, key, f := t.TempDir(), ledgertest.NewKey(t), ledgertest.NewFeed("acme")
			build(f)
			f.Now = f.Now.Add(3 * time.Hour)
			f.Run("p", "r2", 1)
			f.Close("p")
			if name == "SealedByAnother" {
				f.Close("q")
			}
			f.Now = f.Now.Add(3 * time.Hour)
			f.Run("z", "r3", 1)
			path := ledgertest.Write(t, dir, key, f, 100)
			if r := ledgertest.Verify(t, path, key, verifier.Options{Run: "r1"}); r.Exit != verifier.ExitVerified {
				t.Fatalf("the ledger: %s, %+v", r.Completeness, r.Producers)
			}
			r, err := ledger.OpenReader(path)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			e := evidence{reader: r, public: key.Public(), signer: key.Signer()}
			got := check(t, e.bundle(t, ledger.Selection{Run: "r1"}), CheckOptions{Key: ledgertest.VerifierOf(key)})
			if got.Exit != verifier.ExitVerified {
				t.Errorf("%s, open %q, unsealed %q, producers %+v", got.Completeness, got.Open, got.Unsealed, got.Producers)
			}
		})
	}
}
