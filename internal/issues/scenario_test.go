package issues_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/issues"
	"github.com/hooktrail/hooktrail/internal/realdata"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// scenario is one labelled history.
type scenario struct {
	Name     string          `json:"name"`
	Events   []scenarioEvent `json:"events"`
	Expected []struct {
		Kind     issues.Kind   `json:"kind"`
		Covers   []string      `json:"covers"`
		Final    issues.Status `json:"final"`
		Optional bool          `json:"optional"`
		Tenant   string        `json:"tenant"`
	} `json:"expected"`
	Limits struct {
		Transitions int `json:"max_transitions"`
	} `json:"limits"`
}

type scenarioEvent struct {
	T      float64        `json:"t"`
	ID     string         `json:"id"`
	Tenant string         `json:"tenant"`
	Run    string         `json:"run"`
	Ev     string         `json:"ev"`
	Type   string         `json:"type"`
	Step   string         `json:"step"`
	Role   string         `json:"role"`
	Status string         `json:"status"`
	Out    string         `json:"out"`
	Err    string         `json:"err"`
	Meta   map[string]any `json:"meta"`
	OK     bool           `json:"ok"`
}

var metaKeys = map[string]string{"workItem": "work_item", "partialSuccess": "partial_success", "errorClass": "error_class"}

func (se scenarioEvent) event(t *testing.T) events.Event {
	t.Helper()
	meta := make(map[string]any)
	for k, v := range se.Meta {
		if snake, ok := metaKeys[k]; ok {
			k = snake
		}
		meta[k] = v
	}
	e := events.Event{
		ID: se.ID, Source: "/scenario", Tenant: se.Tenant, Run: se.Run, Step: se.Step, RunType: se.Type,
		Time: epoch.Add(time.Duration(se.T * float64(time.Second))),
	}
	var payload any
	switch se.Ev {
	case "start":
		e.Type, payload = events.RunStarted.Type(), events.RunStartedData{RunType: se.Type, Metadata: meta}
	case "step":
		d := events.StepFinishedData{
			RunType: se.Type, AgentRole: se.Role, StepStatus: events.StepStatus(se.Status), OutputSummary: se.Out, Metadata: meta,
		}
		if se.Err != "" {
			d.Error = &events.Failure{Message: se.Err}
		}
		e.Type, payload = events.StepFinished.Type(), d
	case "end":
		e.Type, payload = events.RunFinished.Type(), events.RunFinishedData{RunType: se.Type, Success: se.OK, Metadata: meta}
	default:
		t.Fatalf("event %s is a %q", se.ID, se.Ev)
	}
	if err := e.SetData(payload); err != nil {
		t.Fatal(err)
	}
	return e
}

// tableScenarios are those that the ADR's table alone decides; the others need
// the rules against spam.
var tableScenarios = []string{"D01", "D02", "D03", "D04", "D05", "D08", "D09", "D12", "D13", "D14"}

func loadScenarios(t *testing.T) []scenario {
	t.Helper()
	data, err := os.ReadFile(realdata.Path(t, "..", "tracker-scenarios-dev.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []scenario
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(s scenario) bool { return !slices.Contains(tableScenarios, s.Name) })
}

func TestScenarios(t *testing.T) {
	for _, sc := range loadScenarios(t) {
		var list, twice []events.Event
		for _, se := range sc.Events {
			e := se.event(t)
			list, twice = append(list, e), append(twice, e, e)
		}
		t.Run(sc.Name, func(t *testing.T) { checkScenario(t, sc, list) })
		t.Run(sc.Name+"/Twice", func(t *testing.T) { checkScenario(t, sc, twice) })
	}
}

func checkScenario(t *testing.T, sc scenario, list []events.Event) {
	t.Helper()
	s, decisions := fold(t, list)
	first := make(map[string]string)
	transitions := 0
	for _, d := range decisions {
		for _, id := range d.Issues {
			if first[id] == "" {
				first[id] = d.Event
			}
		}
		for _, e := range d.Effects {
			if e.Op == issues.OpCreate || e.Op == issues.OpTransition {
				transitions++
			}
		}
	}
	if limit := sc.Limits.Transitions; limit > 0 && transitions > limit {
		t.Errorf("got %d transitions, at most %d are allowed", transitions, limit)
	}
	matched := make([]bool, len(sc.Expected))
	for _, issue := range s.Issues() {
		found := false
		for i, want := range sc.Expected {
			if matched[i] || want.Tenant != issue.Tenant || want.Kind != issue.Kind || !slices.Contains(want.Covers, first[issue.ID]) {
				continue
			}
			matched[i], found = true, true
			if issue.Status != want.Final {
				t.Errorf("issue %q is %s, want %s", issue.Title, issue.Status, want.Final)
			}
			break
		}
		if !found {
			t.Errorf("issue %q is spam", issue.Title)
		}
	}
	for i, want := range sc.Expected {
		if !matched[i] && !want.Optional {
			t.Errorf("no %s issue covers %v", want.Kind, want.Covers)
		}
	}
}
