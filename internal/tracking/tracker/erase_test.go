package tracker

import (
	"cmp"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker/trackertest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// marker is part of every text of the erased events.
const marker = "MARKER-7c1e"

// quoted returns events of a run whose texts reach issues in all possible ways.
func quoted(tb testing.TB, run, user, text string) []events.Event {
	tb.Helper()
	deferred := "Done. Out of scope: " + text + " schema. Next steps: " + text + " retry; " + text + " docs; " + text + " cache; " + text + " flag"
	failed := rulestest.At(tb, "acme", run, 3, events.StepFinished, events.StepFinishedData{
		AgentRole: text, StepStatus: events.StepFailed, Error: &events.Failure{Message: text + " broke"},
	})
	failed.Step = text + "-step"
	list := []events.Event{
		rulestest.At(tb, "acme", run, 0, events.RunStarted, events.RunStartedData{RunType: "RESOLVE", Title: text}),
		failed,
		rulestest.StepAt(tb, "acme", run, 4, "s1", events.StepCompleted, deferred),
		rulestest.At(tb, "acme", run, 6, events.RunFinished, events.RunFinishedData{Error: &events.Failure{Message: text + " gave up"}}),
	}
	for i := range list {
		list[i].User = user
	}
	return list
}

func openKey(tb testing.TB, dataDir string) *writer.Key {
	tb.Helper()
	k, err := writer.OpenKey(filepath.Join(dataDir, "keys"))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func orderEvent(tb testing.TB, key *writer.Key, o ledger.Order) events.Event {
	tb.Helper()
	o.Tenant = cmp.Or(o.Tenant, "acme")
	o.By, o.Reason, o.Time = "jdoe", "asked to", rulestest.StoryBegins
	signed, err := key.Sign(o)
	if err != nil {
		tb.Fatal(err)
	}
	e, err := events.New(events.AuditAccessed, "/auditor", events.AuditAccessedData{Action: o.Action, By: o.By, Order: string(signed)})
	if err != nil {
		tb.Fatal(err)
	}
	e.Tenant = o.Tenant
	return e
}

// No file of the tracker contains erased texts, even if the order arrives in one batch with the
// events.
//
//guarantee:erase-issues
func TestErase_TextsAreNowhere(t *testing.T) {
	for _, c := range []struct {
		name      string
		selection ledger.OrderSelection
	}{
		{"Run", ledger.OrderSelection{Run: "r1"}},
		{"User", ledger.OrderSelection{User: "mmuster"}},
	} {
		for _, atOnce := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/AtOnce=%v", c.name, atOnce), func(t *testing.T) {
				p := newPipeline(t)
				p.Publish("engine", quoted(t, "r1", "mmuster", marker)...)
				p.Publish("other", quoted(t, "r2", "jane", "REMAINS")...)
				if !atOnce {
					p.mustDrain()
					if len(trackertest.FilesWith(t, p.DataDir, marker)) < 2 {
						t.Fatal("the texts are not in the database and the export to begin with")
					}
				}
				p.Publish("auditor", orderEvent(t, openKey(t, p.DataDir), ledger.Order{Action: events.AuditErase, ID: "o1", Selection: c.selection}))
				p.mustDrain()
				text := marker
				if c.name == "User" {
					text += " " // names of steps and roles stay unless the whole run is erased
				}
				if files := trackertest.FilesWith(t, p.DataDir, text); len(files) > 0 {
					t.Errorf("found in %v", files)
				}
				if len(trackertest.FilesWith(t, p.DataDir, "REMAINS ")) < 2 {
					t.Error("the texts of the other run are gone")
				}
				list, err := List(t.Context(), p.DataDir, "acme")
				if err != nil {
					t.Fatal(err)
				}
				for _, i := range list {
					if (i.Title == store.Erased) != (i.Run == "r1") {
						t.Errorf("issue %s of %s is called %q", i.ID, i.Run, i.Title)
					}
				}
			})
		}
	}
}

//guarantee:erase-issues
func TestErase_NeedsAnOrderThatNothingHolds(t *testing.T) {
	p := newPipeline(t)
	key, forger := openKey(t, p.DataDir), openKey(t, t.TempDir())
	erase := func(id string) ledger.Order {
		return ledger.Order{Action: events.AuditErase, ID: id, Selection: ledger.OrderSelection{Run: "r1"}}
	}
	p.Publish("engine", quoted(t, "r1", "mmuster", marker)...)
	p.Publish("auditor",
		orderEvent(t, forger, erase("o1")),
		orderEvent(t, key, ledger.Order{Action: events.AuditHold, ID: "h1", Selection: ledger.OrderSelection{User: "mmuster"}}),
		orderEvent(t, key, erase("o2")))
	p.mustDrain()
	if len(trackertest.FilesWith(t, p.DataDir, marker)) < 2 {
		t.Fatal("what is held was erased")
	}
	p.Publish("auditor2", orderEvent(t, key, ledger.Order{Action: events.AuditLift, ID: "l1", Hold: "h1"}), orderEvent(t, key, erase("o3")))
	p.mustDrain()
	if files := trackertest.FilesWith(t, p.DataDir, marker); len(files) > 0 {
		t.Errorf("after the hold was lifted, found in %v", files)
	}
}

//guarantee:erase-issues
func TestErase_WaitsForTheKey(t *testing.T) {
	p := newPipeline(t)
	key := openKey(t, t.TempDir())
	p.Publish("engine", quoted(t, "r1", "mmuster", marker)...)
	p.Publish("auditor", orderEvent(t, key, ledger.Order{Action: events.AuditErase, ID: "o1", Selection: ledger.OrderSelection{Run: "r1"}}))
	p.mustDrain()
	if len(trackertest.FilesWith(t, p.DataDir, marker)) < 2 {
		t.Fatal("an order was obeyed that nobody could check")
	}
	p.mustDrain(func(o *Options) { o.OrderKey = key.Public() })
	if files := trackertest.FilesWith(t, p.DataDir, marker); len(files) > 0 {
		t.Errorf("found in %v", files)
	}
}

// Retention uses the time when the server stored an event, as in the ledger.
//
//guarantee:retention
func TestErase_PrunesWhatIsPastRetention(t *testing.T) {
	p := newPipeline(t)
	key := openKey(t, p.DataDir)
	prune := func(id string, to time.Time) events.Event {
		return orderEvent(t, key, ledger.Order{Action: events.AuditPrune, ID: id, Selection: ledger.OrderSelection{Kind: "*", To: to}})
	}
	p.Publish("engine", quoted(t, "r1", "mmuster", marker)...)
	p.Publish("other", quoted(t, "r2", "jane", "REMAINS")...)
	p.Publish("auditor",
		orderEvent(t, key, ledger.Order{Action: events.AuditHold, ID: "h1", Selection: ledger.OrderSelection{User: "jane"}}),
		prune("o1", time.Now().Add(-time.Hour)))
	p.mustDrain()
	if len(trackertest.FilesWith(t, p.DataDir, marker)) < 2 {
		t.Fatal("texts of events that were stored just now, and are older, are gone")
	}
	p.Publish("auditor2", prune("o2", time.Now().Add(time.Hour)))
	p.mustDrain()
	if files := trackertest.FilesWith(t, p.DataDir, marker+" "); len(files) > 0 {
		t.Errorf("found in %v", files)
	}
	if len(trackertest.FilesWith(t, p.DataDir, "REMAINS ")) < 2 {
		t.Error("what is held is gone")
	}
}
