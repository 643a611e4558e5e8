package writer_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/pkg/events"
)

//guarantee:hold
func TestHold(t *testing.T) {
	for name, hold := range map[string]ledger.OrderSelection{
		"Run": {Run: "r-1"}, "Event": {Event: events.DeriveID("coder/e4", "r-1", "7")}, "User": {User: "jane"}, "All": {},
		"Kind": {Kind: "prompt.*"}, "From": {From: ledgertest.Began},
	} {
		t.Run(name, func(t *testing.T) {
			dir, key, f := t.TempDir(), ledgertest.NewKey(t), ledgertest.NewFeed("acme")
			f.Secretive("coder/e4", "r-1", "jane", 10)
			path := ledgertest.Write(t, dir, key, f, 100)
			h := f.Order(t, key, ledgertest.Resolved(t, path, ledger.Order{Action: events.AuditHold, Selection: hold}))
			o := ledgertest.Resolved(t, path, ledgertest.EraseRun("r-1"))
			f.Order(t, key, o)
			ledgertest.Continued(t, dir, key, f, 3)
			r := ledgertest.Checked(t, path, key)
			if r.Integrity != verifier.Verified || r.Redacted.Erased != 0 || r.Redacted.Holds != 1 || r.Redacted.Orders[1].Effect != ledger.EffectHeld {
				t.Errorf("while it is held: %s, redacted %+v: %v", r.Integrity, r.Redacted, r.Problems)
			}
			reader, err := ledger.OpenReader(path)
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			if stopping, err := reader.Orders().BlockingHolds(t.Context(), o); err != nil || len(stopping) != 1 || stopping[0].ID != h.ID {
				t.Errorf("stopping: %v, %v, want the hold", stopping, err)
			}

			f.Order(t, key, ledger.Order{Action: events.AuditLift, Hold: h.ID})
			f.Order(t, key, ledger.Order{Action: events.AuditLift, Hold: h.ID})
			f.Order(t, key, o) // a new order, because the blocked one never takes effect
			ledgertest.Continued(t, dir, key, f, 3)
			r = ledgertest.Checked(t, path, key)
			if r.Integrity != verifier.Verified || r.Redacted.Erased != 10 || r.Redacted.Holds != 0 || r.Redacted.Orders[3].Effect != ledger.EffectVoid {
				t.Errorf("after it was lifted: %s, redacted %+v: %v", r.Integrity, r.Redacted, r.Problems)
			}
			if found := ledgertest.Remains(t, dir, ledgertest.Secret("r-1")); len(found) > 0 {
				t.Errorf("still there: %v", found)
			}
		})
	}
}

// An order from before a hold arrives after the hold, and again after the lift. It destroys
// nothing.
//
//guarantee:hold
func TestHold_BlocksOrdersGivenBefore(t *testing.T) {
	dir, key, f := t.TempDir(), ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	f.Secretive("coder/e4", "r-1", "jane", 10)
	path := ledgertest.Write(t, dir, key, f, 100)
	erase := ledgertest.Resolved(t, path, ledgertest.EraseRun("r-1"))
	erase.ID = events.NewID()
	h := f.Order(t, key, ledgertest.Resolved(t, path, ledger.Order{Action: events.AuditHold, Selection: ledger.OrderSelection{Run: "r-1"}}))
	f.Order(t, key, erase)
	f.Order(t, key, ledger.Order{Action: events.AuditLift, Hold: h.ID})
	f.Order(t, key, erase)
	ledgertest.Continued(t, dir, key, f, 3)
	r := ledgertest.Checked(t, path, key)
	if r.Integrity != verifier.Verified || r.Redacted.Erased != 0 || len(r.Redacted.Orders) != 3 || r.Redacted.Orders[1].Effect != ledger.EffectHeld {
		t.Errorf("%s, redacted %+v: %v", r.Integrity, r.Redacted, r.Problems)
	}
	if len(ledgertest.Remains(t, dir, ledgertest.Secret("r-1"))) == 0 {
		t.Error("it was destroyed")
	}
}

func TestHold_OfSomethingElse(t *testing.T) {
	dir, key, f := t.TempDir(), ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	f.Secretive("coder/e4", "r-1", "jane", 10)
	f.Secretive("coder/e4", "r-2", "john", 10)
	path := ledgertest.Write(t, dir, key, f, 100)
	for _, s := range []ledger.OrderSelection{{Run: "r-2"}, {User: "john"}, {Kind: "tool.*"}, {To: ledgertest.Began}, {Event: "none"}} {
		f.Order(t, key, ledgertest.Resolved(t, path, ledger.Order{Action: events.AuditHold, Selection: s}))
	}
	f.Order(t, key, ledgertest.Resolved(t, path, ledgertest.EraseRun("r-1")))
	ledgertest.Continued(t, dir, key, f, 100)
	if r := ledgertest.Checked(t, path, key); r.Integrity != verifier.Verified || r.Redacted.Erased != 10 || r.Redacted.Holds != 5 {
		t.Errorf("%s, redacted %+v: %v", r.Integrity, r.Redacted, r.Problems)
	}
}

//guarantee:hold
func TestHold_CoversLaterRecordsOfAUser(t *testing.T) {
	dir, key, f := t.TempDir(), ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	f.Secretive("coder/e4", "r-1", "jane", 3)
	path := ledgertest.Write(t, dir, key, f, 100)
	f.Order(t, key, ledgertest.Resolved(t, path, ledger.Order{Action: events.AuditHold, Selection: ledger.OrderSelection{User: "jane"}}))
	f.Secretive("coder/e4", "r-2", "jane", 3)
	ledgertest.Write(t, dir, key, f, 100)
	r, err := ledger.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if stopping, err := r.Orders().BlockingHolds(t.Context(), ledgertest.Resolved(t, path, ledgertest.EraseRun("r-2"))); err != nil || len(stopping) != 1 {
		t.Errorf("stopping: %v, %v, want the hold", stopping, err)
	}
}

//guarantee:order-forged
func TestErase_Tampered(t *testing.T) {
	key, f := ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	f.Secretive("coder/e4", "r-1", "", 10) // leaves 0–9, and a seal and a manifest
	f.Secretive("coder/e4", "r-2", "", 10) // leaves 12–21
	dir := t.TempDir()
	path := ledgertest.Write(t, dir, key, f, 100)
	f.Order(t, key, ledgertest.Resolved(t, path, ledgertest.EraseRun("r-1"))) // leaf 24
	f.Order(t, key, ledgertest.Resolved(t, path, ledger.Order{Action: events.AuditHold, Selection: ledger.OrderSelection{Run: "r-2"}}))
	f.Order(t, key, ledgertest.Resolved(t, path, ledgertest.EraseRun("r-2"))) // leaf 26, stopped
	ledgertest.Continued(t, dir, key, f, 100)
	if r := ledgertest.Checked(t, path, key); r.Integrity != verifier.Verified {
		t.Fatalf("%s: %v", r.Integrity, r.Problems)
	}
	for name, statements := range map[string][]string{
		"a record gone, and nothing said":        {"DELETE FROM payloads WHERE leaf = 13"},
		"a record gone in the name of the order": {"DELETE FROM payloads WHERE leaf = 13", "INSERT INTO erased VALUES (13, 'erased', 24)"},
		"a record gone in the name of a stopped": {"DELETE FROM payloads WHERE leaf = 13", "INSERT INTO erased VALUES (13, 'erased', 26)"},
		"all of a run gone in the name of a stopped": {
			"DELETE FROM payloads WHERE leaf BETWEEN 12 AND 21",
			"INSERT INTO erased SELECT leaf, 'erased', 26 FROM leaves WHERE leaf BETWEEN 12 AND 21",
			"UPDATE orders SET effect = 'done' WHERE leaf = 26",
		},
		"a record gone in the name of a record":    {"DELETE FROM payloads WHERE leaf = 13", "INSERT INTO erased VALUES (13, 'erased', 21)"},
		"a record gone in the name of what is not": {"DELETE FROM payloads WHERE leaf = 13", "INSERT INTO erased VALUES (13, 'erased', 99)"},
		"a seal gone in the name of the order":     {"DELETE FROM payloads WHERE leaf = 10", "INSERT INTO erased VALUES (10, 'erased', 24)"},
		"the order gone":                           {"DELETE FROM payloads WHERE leaf = 24", "INSERT INTO erased VALUES (24, 'erased', 26)"},
		"an erased record back":                    {"INSERT INTO payloads VALUES (3, x'7b7d', NULL, NULL)", "DELETE FROM erased WHERE leaf = 3"},
		"an erased record back beside the word":    {"INSERT INTO payloads VALUES (3, x'7b7d', NULL, NULL)"},
		"erased becomes missing":                   {"DELETE FROM erased WHERE leaf = 3"},
		"erased becomes pruned":                    {"UPDATE erased SET word = 'pruned'"},
		"erased becomes another word":              {"UPDATE erased SET word = 'lost' WHERE leaf = 3"},
		"a row of a leaf that is not there":        {"INSERT INTO erased VALUES (99, 'erased', 100)"},
		"the order's row gone":                     {"DELETE FROM orders WHERE leaf = 24"},
		"a hold's row gone":                        {"DELETE FROM orders WHERE leaf = 25"},
		"another effect":                           {"UPDATE orders SET effect = 'held' WHERE leaf = 24"},
		"a lift that never was":                    {"INSERT INTO orders SELECT 20, 'x', 'lift', 'done', id FROM orders WHERE leaf = 25"},
	} {
		to, ok := ledgertest.Attack(t, path, statements...)
		if !ok {
			t.Errorf("%s: the attack did not work", name)
			continue
		}
		ledgertest.WantInvalid(t, to, key, name)
	}
}

// Destroyed payloads leave no remains after orders of all kinds in any sequence and batches.
//
//guarantee:erase
func TestErase_AnyHistory(t *testing.T) {
	race.Draw(t, 25, 8)
	key := ledgertest.NewKey(t)
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		dir, f := fmt.Sprintf("%s/%d", t.TempDir(), n), ledgertest.NewFeed("acme")
		runs := 0
		var path string
		var holds []string
		for range rapid.IntRange(1, 5).Draw(r, "steps") {
			run := fmt.Sprintf("r-%d", rapid.IntRange(0, max(0, runs-1)).Draw(r, "run"))
			o := ledger.Order{Selection: rapid.SampledFrom([]ledger.OrderSelection{{Run: run}, {User: "user of " + run}}).Draw(r, "selection")}
			switch step := rapid.SampledFrom([]string{"run", "run", "erase", "erase", "hold", "lift", "prune"}).Draw(r, "step"); {
			case step == "run" || path == "":
				f.Secretive("coder/e4", fmt.Sprintf("r-%d", runs), fmt.Sprintf("user of r-%d", runs), rapid.IntRange(1, 20).Draw(r, "n"))
				runs++
			case step == "erase":
				o.Action = events.AuditErase
				f.Order(t, key, ledgertest.Resolved(t, path, o))
			case step == "prune":
				o = ledger.Order{Action: events.AuditPrune, Selection: ledger.OrderSelection{Run: run, To: f.Now}}
				f.Order(t, key, ledgertest.Resolved(t, path, o))
			case step == "hold":
				o.Action = events.AuditHold
				holds = append(holds, f.Order(t, key, ledgertest.Resolved(t, path, o)).ID)
			case len(holds) > 0:
				f.Order(t, key, ledger.Order{Action: events.AuditLift, Hold: rapid.SampledFrom(holds).Draw(r, "hold")})
			}
			path = ledgertest.Write(t, dir, key, f, rapid.IntRange(5, 100).Draw(r, "batch"))
		}
		ledgertest.Continued(t, dir, key, f, 1000)
		report := ledgertest.Checked(t, path, key)
		if report.Integrity != verifier.Verified || report.Completeness == verifier.Gaps {
			r.Fatalf("%s, %s: %v %v", report.Integrity, report.Completeness, report.Problems, report.Gaps)
		}
		gone := make(map[string]bool)
		for _, e := range ledgertest.Leaves(t, path) {
			if e.Removal.Done() {
				gone[e.Run] = true
			}
		}
		for run := range gone {
			if found := ledgertest.Remains(t, dir, ledgertest.Secret(run)); len(found) > 0 {
				r.Fatalf("still there: %v", found)
			}
		}
		again := ledgertest.Checked(t, ledgertest.Continued(t, dir+"again", key, f, 1000), key)
		if again.Checkpoint.Root != report.Checkpoint.Root || again.Redacted.Erased != report.Redacted.Erased ||
			strings.Join(again.Problems, "") != "" {
			r.Fatalf("from the stream again: root %s, %+v; want %s, %+v", again.Checkpoint.Root, again.Redacted,
				report.Checkpoint.Root, report.Redacted)
		}
	})
}
