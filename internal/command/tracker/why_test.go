package tracker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// why says until when an event is deferred.
//
//guarantee:why
func TestWhy_OfWhatIsHeld(t *testing.T) {
	p := newPipeline(t)
	failed := rulestest.StepAt(t, "acme", "r1", 0, "s1", events.StepFailed, "")
	failed.RunType, failed.Time = "REVIEW", time.Now().UTC().Add(time.Hour) // later than all events that are published now
	p.Publish("engine", failed)
	p.mustDrain()
	status, stdout, stderr := call(t, p.DataDir, "why", failed.ID, "--tenant", "acme")
	want := "is held until " + termtext.Time(failed.Time.Add(30*time.Second))
	if status != cli.ExitOK || !strings.Contains(stdout, want) || strings.Count(stdout, "\n") != 1 {
		t.Errorf("exit status %d, %q does not say %q, %s", status, stdout, want, stderr)
	}
	if list := callJSON[[]tracker.Issue](t, p.DataDir, "list", "--tenant", "acme"); len(list) != 0 {
		t.Errorf("got %d issues of what is held", len(list))
	}
	later := failed
	later.ID, later.Type, later.Step, later.Time = "later", events.Custom.Type(), "", failed.Time.Add(time.Minute)
	if err := later.SetData(events.CustomData{Name: "tick"}); err != nil {
		t.Fatal(err)
	}
	p.Publish("engine", later)
	p.mustDrain()
	if _, stdout, _ := call(t, p.DataDir, "why", failed.ID, "--tenant", "acme"); !strings.Contains(stdout, "made an issue") {
		t.Errorf("after the hold: %q", stdout)
	}
}

// why says that too of a failure that would block the issue of a tracked run.
//
//guarantee:why
func TestWhy_OfWhatIsHeldInATrackedRun(t *testing.T) {
	p := newPipeline(t)
	done := rulestest.StepAt(t, "acme", "r1", 0, "s1", events.StepCompleted, "")
	failed := rulestest.StepAt(t, "acme", "r1", 1, "s2", events.StepFailed, "")
	done.RunType, failed.RunType = "AUTOPILOT", "AUTOPILOT"
	done.Time = time.Now().UTC().Add(time.Hour)
	failed.Time = done.Time.Add(time.Second)
	p.Publish("engine", done, failed)
	p.mustDrain()
	_, stdout, stderr := call(t, p.DataDir, "why", failed.ID, "--tenant", "acme")
	if want := "is held until " + termtext.Time(failed.Time.Add(30*time.Second)); !strings.Contains(stdout, want) {
		t.Errorf("%q does not say %q, %s", stdout, want, stderr)
	}
}

// why explains every considered event and every issue in one paragraph.
//
//guarantee:why
func TestWhy_AnswersForAll(t *testing.T) {
	p := newPipeline(t)
	p.Publish("engine", append(gastown(t), rulestest.Story(t)...)...)
	p.mustDrain()
	ids := map[[2]string]string{}
	for _, tenant := range []string{"gastown", "acme", "beta"} {
		list, err := tracker.List(t.Context(), p.DataDir, tenant)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range list {
			ids[[2]string{tenant, i.ID}] = "Issue " + i.ID
		}
	}
	for _, e := range p.Stored("") {
		if slices.Contains([]events.Kind{events.RunStarted, events.RunFinished, events.StepFinished, events.Error}, e.Kind()) {
			ids[[2]string{e.Tenant, e.ID}] = string(e.Kind()) + " " + e.ID
		}
	}
	err := store.Read(t.Context(), p.DataDir, func(conn *sqlite.Conn) error {
		for id, want := range ids {
			x, err := tracker.Explain(conn, id[0], id[1])
			if err != nil {
				return err
			}
			text := paragraph(x)
			if !strings.Contains(text, want) || strings.Contains(text, "\n") || x.Unconsidered == "" && !strings.Contains(text, "(Configuration ") {
				t.Errorf("why %s: %q", id, text)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d events and issues", len(ids))
}
