package anchor

import (
	"context"
	"errors"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/witness"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/witness/witnesstest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
)

// A policy that no witness can meet is reported.
func TestWitnesses_PolicyThatCannotBeMet(t *testing.T) {
	l, stranger := newLedgers(t, "acme"), newLedgers(t)
	for name, tt := range map[string]struct{ more, want string }{
		"OtherLog": {"log " + stranger.public + "\nquorum W1\n", "log lines"},
		"NoURL":    {"witness W2 " + witnesstest.New(t, "w2.example").VerifierKey + "\ngroup all all W1 W2\nquorum all\n", "more witnesses than have a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			w := witnesstest.New(t, "w1.example")
			w.Watch(t, "hooktrail/acme", l.public)
			policy, err := transparency.ParsePolicy([]byte("witness W1 " + w.VerifierKey + " " + w.URL + "\n" + tt.more))
			if err != nil {
				t.Fatal(err)
			}
			k := New(Options{LedgerDir: l.dir, Keys: note.VerifierList(l.key), Witnesses: &policy})
			k.Changed("acme")
			k.Finish(t.Context())
			if err := k.Failure(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}

// A ledger that cannot prove its growth does not pause the witness for other ledgers.
func TestWitnesses_LedgerWithoutProof(t *testing.T) {
	l := newLedgers(t, "acme")
	one := witnesstest.New(t, "w1.example")
	policy, err := transparency.ParsePolicy([]byte("witness W1 " + one.VerifierKey + " " + one.URL + "\nquorum W1\n"))
	if err != nil {
		t.Fatal(err)
	}
	w := newWitnessAnchor(Options{LedgerDir: l.dir, Keys: note.VerifierList(l.key), Witnesses: &policy}.withDefaults())
	defer w.uploads.release()
	w.backoff.succeeded(t.Context(), target{"acme", 0}, 1, "W1")
	_, err = w.askOne(t.Context(), "acme", 0, witness.Checkpoint{
		Note: []byte(l.newest(t, "acme")), Size: 2,
		Prove: func(context.Context, int64) ([]tlog.Hash, error) { return nil, ledger.ErrDamaged },
	})
	if !errors.Is(err, ledger.ErrDamaged) {
		t.Errorf("got %v, want what is wrong", err)
	}
	if _, err := w.backoff.size(target{"other", 0}); err != nil {
		t.Errorf("about another ledger: %v", err)
	}
}
