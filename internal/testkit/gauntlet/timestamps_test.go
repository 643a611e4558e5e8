package gauntlet

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/timestamp"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/timestamp/timestamptest"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
)

// stampAttack puts time stamps next to a ledger that was rewritten with the stolen key.
type stampAttack struct {
	attack

	want int
	// of returns the time stamp, or a zero value for none. note is the newest checkpoint of the
	// rewritten ledger.
	of func(t *testing.T, note []byte) timestamp.Stored
}

// stamps rewrites ledgers after they got a time stamp. The user has the certificate of the
// authority, and the right key of the ledger.
func (g *gauntlet) stamps(t *testing.T, v *victim) {
	t.Helper()
	if !timestamptest.Has(t) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.partial = true
		return
	}
	tsa, own := timestamptest.New(t, timestamptest.Options{}), timestamptest.New(t, timestamptest.Options{})
	genuine := stampOf(t, tsa, v.kept)
	const rewritten = "a ledger with a time stamp rewritten with all keys"
	bad, seen := "VERIFIED, COMPLETE, time stamp BAD (10)", "the time stamp and the reason"
	attacks := []stampAttack{
		{attack{
			name: "StampKept", what: rewritten, alone: "VERIFIED, COMPLETE, time stamp DIVERGED (30)", kept: "diverged (30)",
		}, verifier.ExitDiverged, func(*testing.T, []byte) timestamp.Stored { return genuine }},
		{attack{
			name: "StampRemoved", what: rewritten + ", its time stamps removed", alone: "VERIFIED, COMPLETE, time stamp NOT FOUND (10)", kept: "diverged (30)",
		}, verifier.ExitUnwitnessed, func(*testing.T, []byte) timestamp.Stored { return timestamp.Stored{} }},
		{attack{
			name: "StampOther", what: rewritten + ", the new checkpoint put into its time stamp", alone: bad, kept: "diverged (30)",
		}, verifier.ExitUnwitnessed, func(_ *testing.T, note []byte) timestamp.Stored {
			return timestamp.Stored{Note: note, Token: genuine.Token}
		}},
		{attack{
			name: "StampAltered", what: rewritten + ", the token altered to fit", alone: bad, kept: "diverged (30)",
		}, verifier.ExitUnwitnessed, func(t *testing.T, note []byte) timestamp.Stored {
			t.Helper()
			return timestamp.Stored{Note: note, Token: timestamptest.Redirect(t, genuine.Token, genuine.Note, note)}
		}},
		{attack{
			name: "StampOwnAuthority", what: rewritten + ", with a time stamp of an authority of their own with the same name", alone: bad, kept: "diverged (30)",
		}, verifier.ExitUnwitnessed, func(t *testing.T, note []byte) timestamp.Stored {
			t.Helper()
			return stampOf(t, own, note)
		}},
	}
	t.Run("Stamps", func(t *testing.T) {
		var rows []*attack
		for _, a := range attacks {
			a.has, a.seen = "the data directory, the key", seen
			rows = append(rows, g.add(a.attack))
		}
		r, dir := g.random("Stamps"), t.TempDir()
		kept := filepath.Join(t.TempDir(), "checkpoint")
		if err := os.WriteFile(kept, v.kept, 0o600); err != nil {
			t.Fatal(err)
		}
		for number := range trials {
			path, note, c := v.rewrittenIn(t, dir, r)
			for i, a := range attacks {
				if err := os.RemoveAll(timestamp.Dir(path)); err != nil {
					t.Fatal(err)
				}
				if s := a.of(t, note); s.Note != nil {
					writeStamp(t, path, s, c)
				}
				args := []string{"--data-dir", dir, "--tenant", tenant, "--key", v.key.Public(), "--tsa-cert", tsa.Roots}
				second := pyverify.Request{Path: path, DataDir: dir, Key: v.key.Public(), Trusted: kept} // without time stamps
				rows[i].try(t, number, []trial{
					{a.name, dir + "/pins", args, a.want, verifier.AnchorGiven, nil},
					{"kept", dir + "/pins", append(args, "--trusted", kept), verifier.ExitDiverged, verifier.AnchorGiven, &second},
				})
			}
		}
	})
}

// rewrittenIn writes the ledger again with a random change and the victim's key, in a data
// directory. It returns the file and the newest checkpoint.
func (v *victim) rewrittenIn(t *testing.T, dir string, r *rand.Rand) (path string, note []byte, c ledger.Checkpoint) {
	t.Helper()
	if err := os.RemoveAll(auditor.LedgerDir(dir)); err != nil {
		t.Fatal(err)
	}
	change := pick(r, []historyChange{editEvent, omitEvent, invent, confuse})
	path = v.write(t, auditor.LedgerDir(dir), v.key, rewrite(t, change(t, r, slices.Clone(v.messages))))
	ledgers, done := reader(t, path)
	defer done()
	note, c, err := ledgers.Signed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return path, note, c
}

// stampOf returns a time stamp of a checkpoint.
func stampOf(t *testing.T, a *timestamptest.TSA, note []byte) timestamp.Stored {
	t.Helper()
	u, err := timestamp.ParseURL(a.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := timestamp.NewClient(u)
	defer c.Close()
	der, _, err := c.Stamp(deadline(t), note)
	if err != nil {
		t.Fatal(err)
	}
	return timestamp.Stored{Note: note, Token: der}
}

func writeStamp(t *testing.T, path string, s timestamp.Stored, c ledger.Checkpoint) {
	t.Helper()
	token, err := timestamp.Parse(s.Token)
	if err == nil {
		err = timestamp.Write(path, s, c.Size, token)
	}
	if err != nil {
		t.Fatal(err)
	}
}
