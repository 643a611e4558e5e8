package tracker

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/amplifier"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/internal/tracking/replay"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// scenarios returns the events of all labelled histories in the order of delivery. Each history has
// its own tenants.
func scenarios(tb testing.TB) (list []events.Event) {
	tb.Helper()
	for _, sc := range rulestest.Load(tb) {
		for _, d := range rulestest.Deal(tb, sc) {
			if d.Restart {
				continue
			}
			e := d.Event
			e.Tenant = sc.Name + "-" + e.Tenant
			if d.IssueOf != "" { // the same without an id that is not assigned yet
				edit, err := events.Payload[events.IssueEditedData](e)
				if err != nil {
					tb.Fatal(err)
				}
				edit.Event = d.IssueOf
				if err := e.SetData(edit); err != nil {
					tb.Fatal(err)
				}
			}
			list = append(list, e)
		}
	}
	return list
}

// gastown returns the history of Gastown's issues as events: a run for each issue, which starts,
// returns and ends.
func gastown(tb testing.TB) (list []events.Event) {
	tb.Helper()
	starts := map[string]int{}
	for line := range strings.Lines(rulestest.ReadFile(tb, realdata.Path(tb, "orchestrators", "gastown", "events.part1.jsonl"))) {
		var l struct {
			ID    int
			Actor string
			Issue string    `json:"issue_id"`
			Type  string    `json:"event_type"`
			New   string    `json:"new_value"`
			At    time.Time `json:"created_at"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			tb.Fatal(err)
		}
		var to struct{ Status string }
		_ = json.Unmarshal([]byte(l.New), &to) // a closing has a plain text
		e := events.Event{
			ID: fmt.Sprintf("gastown-%d", l.ID), Source: "/gastown", Tenant: "gastown", RunType: "BEAD",
			AgentRole: l.Actor[strings.LastIndex(l.Actor, "/")+1:], Time: l.At,
		}
		work := map[string]any{"work_item": l.Issue}
		var kind events.Kind
		var payload any
		switch {
		case l.Type == "created" || l.Type == "reopened":
			starts[l.Issue]++
			kind, payload = events.RunStarted, events.RunStartedData{Metadata: work}
		case l.Type == "closed":
			kind, payload = events.RunFinished, events.RunFinishedData{Success: true, OutputSummary: l.New, Metadata: work}
		case to.Status == "hooked" || to.Status == "in_progress":
			kind, payload = events.StepFinished, events.StepFinishedData{AgentRole: e.AgentRole, StepStatus: events.StepCompleted, Metadata: work}
		case to.Status == "open":
			kind, payload = events.StepFinished, events.StepFinishedData{
				AgentRole: e.AgentRole, StepStatus: events.StepFailed, Metadata: work, Error: &events.Failure{Message: "given back by " + l.Actor},
			}
		default:
			kind, payload = events.Custom, events.CustomData{Name: l.Type}
		}
		e.Run, e.Type = fmt.Sprintf("%s.%d", l.Issue, starts[l.Issue]), kind.Type()
		if err := e.SetData(payload); err != nil {
			tb.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

func amplified(tb testing.TB) (list []events.Event) {
	tb.Helper()
	f, err := os.Open(realdata.Path(tb, "orchestrators", "amplifier", "amplifier.log.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	for e, err := range amplifier.Events(tb.Context(), f, ingest.Options{File: f.Name(), Tenant: "amplifier"}) {
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// whatif with the tracker's configuration reproduces the tracker's issues. With another
// configuration it reports the gained and lost issues.
//
//guarantee:replay-rules
func TestWhatif_ReproducesToday(t *testing.T) {
	for _, test := range []struct {
		name string
		list func(testing.TB) []events.Event
		new  string // another configuration
	}{
		{"Scenarios", scenarios, "storm: {most: 1}\ncomplexity: 2\n"},
		{"Gastown", gastown, "hold: 0s\nstorm: {most: 1}\n"},
		{"Amplifier", amplified, "complexity: 1\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPipeline(t)
			list := test.list(t)
			p.Publish("engine", list...)
			p.mustDrain()
			today := callJSON[[]tracker.Issue](t, p.DataDir, "list", "--tenant", list[0].Tenant)
			t.Logf("%d events; %d issues of %s", len(list), len(today), list[0].Tenant)

			same := callJSON[replay.StreamComparison](t, p.DataDir, "whatif", "--config", rulestest.WriteFile(t, "same.yaml", ""), "--nats-url", p.Server.URL())
			if !same.Reproduced.Exact || same.Reproduced.Reason != "" {
				t.Errorf("today is not reproduced: %+v", same.Reproduced)
			}
			if n := same.Gained.Count + same.Lost.Count + same.Changed.Count + same.Decisions.Count; n != 0 || same.Issues.Base != same.Issues.New {
				t.Errorf("the same configuration makes %d differences: %+v", n, same.Comparison)
			}
			other := callJSON[replay.StreamComparison](t, p.DataDir, "whatif", "--config", rulestest.WriteFile(t, "new.yaml", test.new), "--nats-url", p.Server.URL())
			if !other.Reproduced.Exact || other.Config.New == other.Config.Base {
				t.Errorf("under another configuration: %+v, %+v", other.Reproduced, other.Config)
			}
			if test.name != "Amplifier" && other.Gained.Count+other.Lost.Count == 0 {
				t.Errorf("nothing is gained or lost: %+v", other.Comparison)
			}
			t.Logf("under another configuration: %d gained, %d lost, %d changed, %d decisions differ",
				other.Gained.Count, other.Lost.Count, other.Changed.Count, other.Decisions.Count)
		})
	}
}

// whatif reports that the tracker decided under other limits.
//
//guarantee:replay-rules
func TestWhatif_SaysThatTodayIsNotReproduced(t *testing.T) {
	p := newPipeline(t)
	p.Publish("engine", rulestest.Story(t)...)
	p.mustDrain(func(o *tracker.Options) {
		o.Config = rules.DefaultConfig()
		o.Config.Followups = 1
	})
	args := []string{"whatif", "--nats-url", p.Server.URL(), "--config", rulestest.WriteFile(t, "new.yaml", "")}
	got := callJSON[replay.StreamComparison](t, p.DataDir, append(args, "--against", rulestest.WriteFile(t, "other.yaml", "followups: 2\n"))...)
	if r := got.Reproduced; r.Exact || r.Extra == 0 || len(r.Examples) == 0 {
		t.Errorf("reproduction is %+v", r)
	}
	if got := callJSON[replay.StreamComparison](t, p.DataDir, args...); !got.Reproduced.Exact {
		t.Errorf("under the tracker's own configuration: %+v", got.Reproduced)
	}
	_, text, _ := call(t, p.DataDir, args...)
	if first, _, _ := strings.Cut(text, "\n"); !strings.HasSuffix(first, " exactly") {
		t.Errorf("the first line is %q", first)
	}
}

// Without tracker files, whatif folds a history but compares nothing.
func TestWhatif_WithoutATracker(t *testing.T) {
	p := newPipeline(t)
	p.Publish("engine", rulestest.Story(t)...)
	got := callJSON[replay.StreamComparison](t, p.DataDir, "whatif", "--nats-url", p.Server.URL(), "--config", rulestest.WriteFile(t, "new.yaml", "followups: 1\n"))
	if got.Reproduced.Exact || got.Reproduced.Reason == "" || got.Lost.Count == 0 {
		t.Errorf("got %+v", got)
	}
}
