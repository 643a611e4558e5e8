package rulestest

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Epoch is the time of second 0 in every scenario.
var Epoch = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

// Delivery is one step of a test. It delivers an event to the tracker, or restarts the tracker.
type Delivery struct {
	Event   events.Event
	Restart bool
	IssueOf string // if set, the event edits the issue that covers this event
}

// Deal converts the events of a scenario to CloudEvents, in the order in which the tracker receives
// them. Their times count in seconds from [Epoch].
func Deal(tb testing.TB, sc Scenario) []Delivery {
	tb.Helper()
	return DealFrom(tb, sc, Epoch)
}

// DealFrom is like [Deal], but times count from start.
func DealFrom(tb testing.TB, sc Scenario, start time.Time) []Delivery {
	tb.Helper()
	list := make([]Delivery, 0, len(sc.Events))
	for _, se := range sc.Events {
		if se.Ev == "restart" {
			list = append(list, Delivery{Restart: true})
			continue
		}
		e := events.Event{
			ID: se.ID, Source: "/scenario", Tenant: se.Tenant, Run: se.Run, Step: se.Step, AgentRole: se.Role, RunType: se.Type,
			Time: start.Add(time.Duration(se.T * float64(time.Second))),
		}
		e.ParentRun, _ = se.Meta["parentRun"].(string)
		kind, payload := se.payload(tb)
		e.Type = kind.Type()
		if err := e.SetData(payload); err != nil {
			tb.Fatal(err)
		}
		list = append(list, Delivery{Event: e, IssueOf: se.IssueOf})
	}
	return list
}

func (se Event) payload(tb testing.TB) (events.Kind, any) {
	tb.Helper()
	switch se.Ev {
	case "start":
		return events.RunStarted, events.RunStartedData{RunType: se.Type, Metadata: se.metadata()}
	case "step":
		return events.StepFinished, events.StepFinishedData{
			RunType: se.Type, AgentRole: se.Role, StepStatus: events.StepStatus(se.Status), OutputSummary: se.Out,
			Error: se.failure(), Metadata: se.metadata(), TokensUsed: se.tokens(),
		}
	case "end":
		return events.RunFinished, events.RunFinishedData{
			RunType: se.Type, Success: se.OK, OutputSummary: se.Out, Error: se.failure(), Metadata: se.metadata(),
			TokensUsed: se.tokens(), Files: se.Files,
		}
	case "error":
		d := events.ErrorData{}
		if f := se.failure(); f != nil {
			d.Error = *f
		}
		return events.Error, d
	case "human":
		return events.IssueEdited, events.IssueEditedData{Event: se.Event, Issue: se.Issue, Action: se.Action, By: se.By, Value: se.Value}
	case "tick":
		return events.Custom, events.CustomData{Name: "tick", Data: json.RawMessage(`{}`)}
	default:
		tb.Fatalf("event %s is a %q", se.ID, se.Ev)
		return "", nil
	}
}

func (se Event) tokens() *events.Tokens {
	if se.Tokens == 0 {
		return nil
	}
	return &events.Tokens{Input: se.Tokens}
}

func (se Event) failure() *events.Failure {
	class, _ := se.Meta["errorClass"].(string)
	if se.Err == "" && class == "" {
		return nil
	}
	return &events.Failure{Message: se.Err, Class: class}
}

func (se Event) metadata() map[string]any {
	m := make(map[string]any)
	for name, v := range se.Meta {
		if name != "parentRun" && name != "errorClass" {
			m[snake(name)] = v
		}
	}
	return m
}

func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Twice returns a list in which each event is delivered twice in a row.
func Twice(list []Delivery) []Delivery {
	twice := make([]Delivery, 0, 2*len(list))
	for _, d := range list {
		twice = append(twice, d, d)
	}
	return twice
}

// Jitter returns the deliveries in another order. Each delivery is late by a random time below
// limit.
func Jitter(list []Delivery, limit time.Duration, seed uint64) []Delivery {
	type late struct {
		Delivery
		at time.Time
	}
	rng := rand.New(rand.NewPCG(seed, 8))
	order := make([]late, 0, len(list))
	now := make(map[string]time.Time)
	var last time.Time
	for _, d := range list {
		if !d.Restart {
			if d.Event.Time.After(now[d.Event.Tenant]) {
				now[d.Event.Tenant] = d.Event.Time
			}
			last = now[d.Event.Tenant]
		}
		order = append(order, late{d, last.Add(time.Duration(rng.Int64N(int64(limit))))})
	}
	slices.SortStableFunc(order, func(a, b late) int { return a.at.Compare(b.at) })
	jittered := make([]Delivery, 0, len(list))
	for _, d := range order {
		jittered = append(jittered, d.Delivery)
	}
	return jittered
}
