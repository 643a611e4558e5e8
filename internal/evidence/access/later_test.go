package access_test

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// An auditor keeps and shows records with actions of later versions, also with an order that it
// cannot read.
//
//guarantee:later-action
func TestList_ActionOfALaterVersion(t *testing.T) {
	f, key := ledgertest.NewFeed("acme"), ledgertest.NewKey(t)
	f.Event("auditor", "", events.AuditAccessed, events.AuditAccessedData{Action: "archive", By: "jdoe", Reason: "move"})
	f.Event("auditor", "", events.AuditAccessed, events.AuditAccessedData{
		Action: "freeze", By: "jdoe", Order: "hooktrail/order/v9\naction freeze\n\n— hooktrail AAAA\n",
	})
	f.Manifest("auditor")
	path := ledgertest.Write(t, t.TempDir(), key, f, 10)
	r, err := ledger.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	list, err := access.List(t.Context(), r, access.Filter{})
	if err != nil || len(list) != 2 {
		t.Fatalf("got %+v, %v", list, err)
	}
	if list[0].Action != "archive" || list[0].By != "jdoe" || list[0].Unreadable || list[1].Action != "freeze" || !list[1].Order {
		t.Errorf("got %+v", list)
	}
	report := ledgertest.Verify(t, path, key, verifier.Options{})
	ledgertest.WantVerdicts(t, report, verifier.Verified, verifier.Complete)
	if report.SetApart != 0 || report.Exit != 0 {
		t.Errorf("%d records set apart, exit %d", report.SetApart, report.Exit)
	}
}
