package tracker

import (
	"fmt"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker/trackertest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func failing(tb testing.TB, run, user, text string, s int) events.Event {
	tb.Helper()
	e := rulestest.At(tb, "acme", run, s, events.StepFinished, events.StepFinishedData{
		AgentRole: "CODER", StepStatus: events.StepFailed, Error: &events.Failure{Message: text + " broke for " + run},
		OutputSummary: text + " is what I tried. Follow-up: " + text + " needs another look",
	})
	e.Step, e.RunType, e.User = "s1", "TRIAGE", user
	return e
}

// Texts of an event that is erased in its grace period are in no later issue or digest.
func TestErase_HeldAndListed(t *testing.T) {
	release := func(t *testing.T, s int) events.Event {
		t.Helper()
		return rulestest.At(t, "acme", "later", s, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"})
	}
	for _, test := range []struct {
		name   string
		before func(t *testing.T) []events.Event
	}{
		{"Held", func(t *testing.T) []events.Event {
			t.Helper()
			return []events.Event{failing(t, "r1", "mmuster", marker, 0)}
		}},
		{"Listed", func(t *testing.T) []events.Event { // beyond the rate limit
			t.Helper()
			list := make([]events.Event, 0, 20)
			for i := range 8 {
				list = append(list, failing(t, fmt.Sprintf("other%d", i), "jane", fmt.Sprintf("REMAINS %c", 'a'+i), i))
			}
			return append(list, failing(t, "r1", "mmuster", marker, 9), release(t, 60))
		}},
		{"Repeated", func(t *testing.T) []events.Event {
			t.Helper()
			return []events.Event{
				failing(t, "r1", "mmuster", marker, 0), failing(t, "r1", "mmuster", marker, 40), release(t, 80),
			}
		}},
	} {
		for _, selection := range []ledger.OrderSelection{{Run: "r1"}, {User: "mmuster"}} {
			for _, atOnce := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/AtOnce=%v", test.name, selection.Run, atOnce), func(t *testing.T) {
					p := newPipeline(t)
					p.publishUnsealed("engine", test.before(t)...)
					if !atOnce {
						p.mustDrain()
						if len(trackertest.FilesWith(t, p.DataDir, marker)) == 0 {
							t.Fatal("the text is not in the database to begin with")
						}
					}
					p.publishUnsealed("auditor", orderEvent(t, openKey(t, p.DataDir), ledger.Order{Action: events.AuditErase, ID: "o1", Selection: selection}))
					p.mustDrain()
					p.Publish("later", release(t, 200))
					p.mustDrain()
					if files := trackertest.FilesWith(t, p.DataDir, marker); len(files) > 0 {
						t.Errorf("found in %v", files)
					}
				})
			}
		}
	}
}

// publishUnsealed publishes without seals, so that nothing else moves a clock.
func (p *pipeline) publishUnsealed(producer string, list ...events.Event) {
	p.TB.Helper()
	js := p.Server.JetStream(p.TB)
	for i, e := range list {
		if e.Time.IsZero() || e.Kind() == events.AuditAccessed {
			e.Time = rulestest.StoryBegins
		}
		if e.Producer == "" {
			e.Producer, e.Sequence, e.Salt = producer, uint64(i+1), events.NewSalt()
		}
		subject, err := p.Server.Space().Event(e.Tenant, e.Producer, e.Run, e.Kind())
		if err != nil {
			p.TB.Fatal(err)
		}
		if _, err := js.Publish(p.TB.Context(), subject, e.Append(nil)); err != nil {
			p.TB.Fatal(err)
		}
	}
}
