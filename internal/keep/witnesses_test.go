package keep

import (
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/c2sp"
	"github.com/hooktrail/hooktrail/internal/witnesstest"
)

// What a policy lacks, so that no witness could ever meet it, is told.
func TestWitnesses_PolicyThatCannotBeMet(t *testing.T) {
	l, stranger := newLedgers(t, "acme"), newLedgers(t)
	for name, tt := range map[string]struct{ more, want string }{
		"OtherLog": {"log " + stranger.public + "\nquorum W1\n", "log lines"},
		"NoURL":    {"witness W2 " + witnesstest.New(t, "w2.example").VerifierKey + "\ngroup all all W1 W2\nquorum all\n", "more than have a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			w := witnesstest.New(t, "w1.example")
			w.Watch(t, "hooktrail/acme", l.public)
			policy, err := c2sp.ParsePolicy([]byte("witness W1 " + w.VerifierKey + " " + w.URL + "\n" + tt.more))
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
