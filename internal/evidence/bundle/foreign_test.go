package bundle

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// If events of a foreign program took sequence numbers of a producer, a bundle names these events,
// and the verdict is about the real producer.
//
//guarantee:verify-foreign
func TestBundle_ForeignRecords(t *testing.T) {
	for _, tt := range []struct {
		name      string
		forgedRun string
		selection ledger.Selection
		foreign   int64
	}{
		{"Whole", "r2", ledger.Selection{}, 1},
		{"Run", "r2", ledger.Selection{Run: "r2"}, 1},
		{"ForgedInAnotherRun", "ghost", ledger.Selection{Run: "r2"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, key := ledgertest.NewFeed("acme"), ledgertest.NewKey(t)
			f.Sign("p")
			f.Run("p", "r1", 3)
			e, err := events.New(events.Custom, "/forged", events.CustomData{Name: "harmless"})
			if err != nil {
				t.Fatal(err)
			}
			e.ID, e.Tenant, e.Producer, e.Run, e.Time, e.Sequence = "forged", "acme", "p", tt.forgedRun, f.Now, 12
			f.Add(subjects.Address{Tenant: "acme", Producer: "p", Run: tt.forgedRun, Kind: e.Kind()}, e.Encode())
			f.Run("p", "r2", 3)

			in, err := ledger.OpenReader(ledgertest.Write(t, t.TempDir(), key, f, 1000))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = in.Close() }() // it was only read
			var out bytes.Buffer
			if err := WriteBundle(t.Context(), &out, in, Options{Selection: tt.selection, Key: key.Public(), Signer: key.Signer()}); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "bundle.zip")
			if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			r := check(t, path, CheckOptions{Key: ledgertest.VerifierOf(key)})
			if r.Integrity != verifier.Verified || r.Completeness != verifier.Complete || r.ForeignCount != tt.foreign || r.Exit != verifier.ExitContradicts {
				t.Errorf("%s, %s, exit %d, foreign %+v, gaps %+v, problems %q, producers %+v", r.Integrity, r.Completeness, r.Exit, r.Foreign, r.Gaps, r.Problems, r.Producers)
			}
		})
	}
}
