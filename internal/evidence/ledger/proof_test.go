package ledger_test

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
)

func openTest(tb testing.TB, path string) *ledger.Reader {
	tb.Helper()
	r, err := ledger.OpenReader(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	})
	return r
}

// Only code of x/mod checks the proofs, as a user without Hooktrail would.
//
//guarantee:proof
func TestReader_Prove(t *testing.T) {
	key := ledgertest.NewKey(t)
	path := ledgertest.Write(t, t.TempDir(), key, ledgertest.BigFeed(), 50)
	r := openTest(t, path)
	all := ledgertest.Leaves(t, path)
	for _, e := range all {
		p, err := r.Tree().Prove(t.Context(), e.Leaf)
		if err != nil {
			t.Fatal(err)
		}
		n, err := note.Open(p.Checkpoint, note.VerifierList(ledgertest.VerifierOf(key)))
		if err != nil {
			t.Fatal(err)
		}
		tree, err := tlog.ParseTree([]byte("go.sum database tree\n" + afterFirstLine(n.Text)))
		if err != nil {
			t.Fatal(err)
		}
		if err := tlog.CheckRecord(p.Path, tree.N, tree.Hash, e.Leaf, tlog.RecordHash(p.Leaf)); err != nil {
			t.Errorf("leaf %d: %v", e.Leaf, err)
		}
		leaf, err := ledger.ParseLeaf(p.Leaf)
		if err != nil || leaf.Hash != e.Hash || leaf.ID != e.ID || leaf.Producer != e.Producer {
			t.Errorf("leaf %d: got %+v, %v", e.Leaf, leaf, err)
		}
	}
	for _, n := range []int64{-1, int64(len(all))} {
		if _, err := r.Tree().Prove(t.Context(), n); !errors.Is(err, ledger.ErrNoLeaf) {
			t.Errorf("leaf %d: got %v, want %v", n, err, ledger.ErrNoLeaf)
		}
	}
}

// afterFirstLine returns the text without the origin. [tlog.ParseTree] requires another origin,
// and ignores the extension lines.
func afterFirstLine(text string) string {
	for i, c := range text {
		if c == '\n' {
			return text[i+1:]
		}
	}
	return ""
}

func TestReader_ProveRefusesDamage(t *testing.T) {
	path := ledgertest.Write(t, t.TempDir(), ledgertest.NewKey(t), ledgertest.BigFeed(), 50)
	for _, s := range []string{
		"UPDATE leaves SET sequence = sequence + 1000 WHERE leaf = 7",
		"UPDATE leaves SET hash = x'00' WHERE leaf = 7",
		"UPDATE hashes SET bytes = randomblob(length(bytes))",
		"UPDATE hashes SET bytes = x''",
		"DELETE FROM hashes",
		"UPDATE producers SET name = name || 'x'",
		"UPDATE checkpoints SET note = 'no note'",
	} {
		to, ok := ledgertest.Attack(t, path, s)
		if !ok {
			t.Fatalf("%s: the attack did not work", s)
		}
		r, err := ledger.OpenReader(to)
		if err != nil {
			if !errors.Is(err, ledger.ErrDamaged) {
				t.Errorf("%s: got %v", s, err)
			}
			continue
		}
		if _, err := r.Tree().Prove(context.Background(), 7); !errors.Is(err, ledger.ErrDamaged) {
			t.Errorf("%s: got %v, want %v", s, err, ledger.ErrDamaged)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
