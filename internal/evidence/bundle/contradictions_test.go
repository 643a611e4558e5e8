package bundle

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Every bundle reports an id with two contents, as the ledger does.
//
//guarantee:id-taken
func TestCheck_SameIDWithOtherContent(t *testing.T) {
	f := newFeed()
	f.run("p", "r1", 2)
	f.publish("p", "r1", events.Custom, "taken", map[string]string{"text": "harmless"})
	f.seal("p", "r1")
	f.publish("q", "r1", events.Custom, "taken", map[string]string{"text": "another"})
	f.seal("q", "r1")
	e := f.write(t)
	for name, s := range map[string]ledger.Selection{"Whole": {}, "Run": {Run: "r1"}, "Time": {From: began}} {
		t.Run(name, func(t *testing.T) {
			r := check(t, e.bundle(t, s), CheckOptions{Key: e.key})
			if r.Integrity != verifier.Verified || r.Exit != verifier.ExitContradicts || r.Contradictions != 1 || len(r.Findings) != 1 {
				t.Errorf("got %s, exit %d, %d contradictions, %+v, %q", r.Integrity, r.Exit, r.Contradictions, r.Findings, r.Problems)
			}
		})
	}
}
