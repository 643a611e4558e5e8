package bundle

import (
	"fmt"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Bundles of a run and of everything have the ledger's rules. They are INVALID if records were
// destroyed against these rules.
//
//guarantee:second-person
//guarantee:floor
func TestRules_Bypassed(t *testing.T) {
	amy := ledgertest.NewPerson(t, "amy")
	prune := ledger.Order{Action: events.AuditPrune, Selection: ledger.OrderSelection{Kind: "prompt.*", To: ledgertest.Began.Add(time.Hour)}}
	for name, c := range map[string]struct {
		rule, order ledger.Order
		approve     bool
		want        verifier.Integrity
	}{
		"approved":        {ledgertest.SecondPerson(amy), ledgertest.EraseRun("r-1"), true, verifier.Verified},
		"not approved":    {ledgertest.SecondPerson(amy), ledgertest.EraseRun("r-1"), false, verifier.Invalid},
		"below the floor": {ledger.Order{Action: events.AuditFloor, Floor: time.Hour}, prune, false, verifier.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			dir, key, f := t.TempDir(), ledgertest.NewKey(t), ledgertest.NewFeed("acme")
			f.Secretive("coder/e4", "r-1", "jane", 3)
			f.Order(t, key, c.rule)
			path := ledgertest.Write(t, dir, key, f, 100)
			o := ledgertest.Resolved(t, path, c.order)
			f.Order(t, key, o)
			if c.approve {
				f.Approve(t, key, amy)
			}
			path = ledgertest.Continued(t, dir, key, f, 100)
			if !c.approve {
				path = destroyed(t, path, o)
			}
			for _, s := range []ledger.Selection{{}, {Run: "r-1"}} {
				r, err := ledger.OpenReader(path)
				if err != nil {
					t.Fatal(err)
				}
				e := evidence{reader: r, public: key.Public()}
				report := check(t, e.bundle(t, s), CheckOptions{Key: ledgertest.VerifierOf(key)})
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
				if report.Integrity != c.want || c.want == verifier.Verified && (report.Redacted.Erased != 3 || len(report.Redacted.Rules) != 1) {
					t.Errorf("%+v: %s, redacted %+v: %v", s, report.Integrity, report.Redacted, report.Problems)
				}
			}
		})
	}
}

func destroyed(t *testing.T, path string, o ledger.Order) string {
	t.Helper()
	statements := []string{"UPDATE orders SET effect = 'done'"}
	for _, span := range o.Leaves {
		for leaf := span.First; leaf <= span.Last; leaf++ {
			statements = append(statements, fmt.Sprintf(`DELETE FROM payloads WHERE leaf = %d;
				INSERT INTO erased SELECT %d, '%s', max(leaf) FROM orders`, leaf, leaf, ledger.WordOf(o.Action)))
		}
	}
	to, ok := ledgertest.Attack(t, path, statements...)
	if !ok {
		t.Fatal("refused")
	}
	return to
}
