package tracker

import (
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker/trackertest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Texts stay until a second person approves the order. A floor protects them from pruning.
//
//guarantee:second-person
//guarantee:floor
func TestErase_NeedsWhatTheRulesRequire(t *testing.T) {
	p := newPipeline(t)
	key, amy := openKey(t, p.DataDir), ledgertest.NewPerson(t, "amy")
	rule := ledgertest.SecondPerson(amy)
	rule.ID, rule.Second.For, rule.Second.Within = "a1", []events.AuditAction{events.AuditErase}, 100*365*24*time.Hour
	erase := orderEvent(t, key, ledger.Order{Action: events.AuditErase, ID: "o1", Selection: ledger.OrderSelection{Run: "r1"}})
	p.Publish("engine", quoted(t, "r1", "mmuster", marker)...)
	p.Publish("auditor",
		orderEvent(t, key, rule),
		orderEvent(t, key, ledger.Order{Action: events.AuditFloor, ID: "f1", Floor: time.Hour}),
		erase,
		orderEvent(t, key, ledger.Order{Action: events.AuditPrune, ID: "p1", Selection: ledger.OrderSelection{To: time.Now().Add(time.Hour)}}))
	p.mustDrain()
	if len(trackertest.FilesWith(t, p.DataDir, marker)) < 2 {
		t.Fatal("an order had an effect that the rules forbid")
	}
	d, err := events.Payload[events.AuditAccessedData](erase)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := ledger.Approve([]byte(d.Order), note.VerifierList(ledgertest.VerifierOf(key)), amy.Signer)
	if err != nil {
		t.Fatal(err)
	}
	d.Order = string(signed)
	approved, err := events.New(events.AuditAccessed, "/auditor", d)
	if err != nil {
		t.Fatal(err)
	}
	approved.Tenant = "acme"
	p.Publish("auditor2", approved)
	p.mustDrain()
	if files := trackertest.FilesWith(t, p.DataDir, marker); len(files) > 0 {
		t.Errorf("after the approval, found in %v", files)
	}
}
