package pyverify_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// TestVerifier_Rules compares the verdicts about ledgers with a retention floor and with the
// rule of a second person, and about copies in which records were destroyed against them.
//
//guarantee:second-verifier
func TestVerifier_Rules(t *testing.T) {
	v, amy := start(t), ledgertest.NewPerson(t, "amy")
	prune := ledger.Order{Action: events.AuditPrune, Selection: ledger.OrderSelection{Kind: "prompt.*", To: ledgertest.Began.Add(time.Hour)}}
	floor := func(d time.Duration) ledger.Order { return ledger.Order{Action: events.AuditFloor, Floor: d} }
	for name, c := range map[string]struct {
		rules   []ledger.Order
		order   ledger.Order
		wait    time.Duration // before the approval
		approve bool
	}{
		"Approved":      {[]ledger.Order{ledgertest.SecondPerson(amy)}, ledgertest.EraseRun("r-1"), 0, true},
		"NotApproved":   {[]ledger.Order{ledgertest.SecondPerson(amy)}, ledgertest.EraseRun("r-1"), 0, false},
		"ApprovedLate":  {[]ledger.Order{ledgertest.SecondPerson(amy)}, ledgertest.EraseRun("r-1"), 2 * time.Hour, true},
		"RuleEnded":     {[]ledger.Order{ledgertest.SecondPerson(amy), {Action: events.AuditApprovers}}, ledgertest.EraseRun("r-1"), 0, false},
		"Floor":         {[]ledger.Order{floor(time.Hour)}, prune, 0, false},
		"FloorPassed":   {[]ledger.Order{floor(time.Second)}, prune, 0, false},
		"FloorLowered":  {[]ledger.Order{floor(time.Hour), floor(0)}, prune, 0, false},
		"FloorAndErase": {[]ledger.Order{floor(time.Hour)}, ledgertest.EraseRun("r-1"), 0, false},
		"BothRules":     {[]ledger.Order{ledgertest.SecondPerson(amy), floor(time.Hour), floor(time.Minute)}, prune, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, key, f := t.TempDir(), ledgertest.NewKey(t), ledgertest.NewFeed("acme")
			f.Secretive("coder/e4", "r-1", "jane", 3)
			for _, rule := range c.rules {
				f.Order(t, key, rule)
			}
			path := ledgertest.Write(t, dir, key, f, 100)
			o := ledgertest.Resolved(t, path, c.order)
			f.Now = f.Now.Add(time.Minute)
			f.Order(t, key, o)
			if f.Now = f.Now.Add(c.wait); c.approve {
				f.Approve(t, key, amy)
			}
			f.Manifest("auditor/e1")
			path = ledgertest.Continued(t, dir, key, f, 100)
			compareAll(t, v, key, path, "r-1")
			for _, word := range []string{"erased", "pruned"}[:race.Size(2, 1)] {
				compareAll(t, v, key, destroyed(t, path, word), "r-1")
			}
		})
	}
}

// compareAll compares the verdicts about a ledger, and about its bundles.
func compareAll(t *testing.T, v *pyverify.Verifier, key *writer.Key, path string, runs ...string) {
	t.Helper()
	v.Compare(t, pyverify.Request{Path: path, Key: key.Public(), RequireEnrolled: true}, ledgertest.Verify(t, path, key, verifier.Options{RequireEnrolled: true}))
	selections := []ledger.Selection{{}}
	for _, run := range runs {
		selections = append(selections, ledger.Selection{Run: run}, ledger.Selection{Run: run, From: ledgertest.Began})
	}
	for _, s := range selections[:race.Size(len(selections), 1)] {
		file := exportAny(t, key, path, s)
		r, err := bundle.Check(t.Context(), file, bundle.CheckOptions{Key: ledgertest.VerifierOf(key)})
		if err != nil {
			t.Fatal(err)
		}
		v.Compare(t, pyverify.Request{Path: file, Key: key.Public()}, r.Report)
	}
}

// destroyed returns a copy of a ledger with the records of an event kind destroyed in the name
// of its last order.
func destroyed(t *testing.T, path, word string) string {
	t.Helper()
	to, ok := ledgertest.Attack(t, path,
		"UPDATE orders SET effect = 'done'",
		fmt.Sprintf(`INSERT OR IGNORE INTO erased SELECT leaf, '%s', (SELECT max(leaf) FROM orders) FROM leaves WHERE kind = 'prompt.submit'`, word),
		"DELETE FROM payloads WHERE leaf IN (SELECT leaf FROM erased)")
	if !ok {
		t.Fatal("refused")
	}
	return to
}

// TestVerifier_Issuers compares which producers are enrolled, by orders and endorsements that
// were revoked, given again or given later.
func TestVerifier_Issuers(t *testing.T) {
	v, key := start(t), ledgertest.NewKey(t)
	trust := func(f *ledgertest.Feed, action events.AuditAction) {
		f.Order(t, key, ledger.Order{Action: action, Issuer: ledgertest.PublicKey("owner")})
		f.Manifest("auditor/e1")
	}
	enrol := func(f *ledgertest.Feed, producers ...string) {
		for _, p := range producers {
			f.Enrol(p, "owner")
			f.Run(p, "r-1", 1)
		}
	}
	endorsed := func(f *ledgertest.Feed, producer, tenant string) {
		signed, err := ledger.Endorsement{Issuer: ledgertest.PublicKey("owner"), Tenant: tenant, Time: ledgertest.Began}.Sign(key.Signer())
		if err != nil {
			t.Fatal(err)
		}
		f.Sign(producer)
		f.Give(producer, ledgertest.Grant("owner", events.Grant{Key: ledgertest.PublicKey(producer), Endorsed: signed}))
		f.Run(producer, "r-1", 1)
	}
	for name, build := range map[string]func(f *ledgertest.Feed){
		"Later": func(f *ledgertest.Feed) { enrol(f, "a"); trust(f, events.AuditIssuer) },
		"Revoked": func(f *ledgertest.Feed) {
			trust(f, events.AuditIssuer)
			enrol(f, "a")
			trust(f, events.AuditRevoke)
			enrol(f, "b")
		},
		"Again": func(f *ledgertest.Feed) {
			trust(f, events.AuditRevoke)
			enrol(f, "a")
			trust(f, events.AuditIssuer)
			enrol(f, "b")
		},
		"Never":           func(f *ledgertest.Feed) { trust(f, events.AuditRevoke); enrol(f, "a") },
		"Endorsed":        func(f *ledgertest.Feed) { endorsed(f, "a", ""); endorsed(f, "b", "acme"); endorsed(f, "c", "other") },
		"EndorsedRevoked": func(f *ledgertest.Feed) { endorsed(f, "a", ""); trust(f, events.AuditRevoke); endorsed(f, "b", "") },
		"RevokedFrom": func(f *ledgertest.Feed) {
			trust(f, events.AuditIssuer)
			enrol(f, "a")
			f.Now = f.Now.Add(time.Hour)
			from := f.Now
			enrol(f, "b")
			f.Order(t, key, ledger.Order{
				Action: events.AuditRevoke, Issuer: ledgertest.PublicKey("owner"), Selection: ledger.OrderSelection{From: from},
			})
			f.Manifest("auditor/e1")
		},
		"KeyChanged": func(f *ledgertest.Feed) {
			trust(f, events.AuditIssuer)
			enrol(f, "a")
			f.ChangeKey("a", "next")
			f.Run("a", "r-2", 1)
			f.Run("a", "r-1", 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := ledgertest.NewFeed("acme")
			build(f)
			compareAll(t, v, key, ledgertest.Write(t, t.TempDir(), key, f, 9), "r-1")
		})
	}
}
