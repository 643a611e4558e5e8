package hooktrail

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// An agent sends a harmless run whose id is the short id of its own run. No list shows this short
// id for the genuine run, and the short id alone names neither.
func TestFindRun_Decoy(t *testing.T) {
	const genuine = "0197c2d4-7f00-7000-8000-000000000001"
	decoy := genuine[:leastID]
	f := ledgertest.NewFeed("acme")
	f.Open("p", time.Hour)
	for _, run := range []string{decoy, genuine, "r-4", "r-42", "review-1", "review-10"} {
		e := ledgertest.Form{Kind: events.ToolBefore, Data: `{"tool":"Bash"}`}.Event(run)
		e.ID, e.Run, e.Subject = events.DeriveID(run), run, run
		f.Publish("p", e)
	}
	f.Manifest("p")
	r, err := ledger.OpenReader(ledgertest.Write(t, t.TempDir(), ledgertest.NewKey(t), f, 100))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all, err := r.RunIDs(t.Context(), "")
	if err != nil || !slices.Equal(all, []string{decoy, genuine, "r-4", "r-42", "review-1", "review-10"}) {
		t.Fatalf("runs %q, %v", all, err)
	}
	_, cells := tableOf([]ledger.RunSummary{{Run: genuine}}, true, all)
	for name, want := range map[string]string{cells[0][0]: genuine, genuine: genuine, "id:" + decoy: decoy, "r-4": "r-4", "id:r-4": "r-4", "review-1": "review-1"} {
		if got, err := findRun(t.Context(), r, name); err != nil || got != want {
			t.Errorf("%q is run %q, %v, want %q", name, got, err, want)
		}
	}
	got, err := findRun(t.Context(), r, decoy)
	if err == nil || !strings.Contains(err.Error(), genuine) || !strings.Contains(err.Error(), "id:"+decoy) {
		t.Errorf("the short id is run %q, %v, want an error that names both runs", got, err)
	}
}
