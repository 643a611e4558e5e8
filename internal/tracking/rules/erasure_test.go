package rules_test

import (
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Erasing a run removes the role, step and error class of its failure. Ids stay.
func TestErasure_WordsOfAFailure(t *testing.T) {
	for _, class := range []string{"", "MARKER_outage"} {
		for _, waiting := range []bool{true, false} {
			e := stepAt(t, 0, 0, events.StepFailed, "", map[string]any{"target": "MARKER"})
			e.Step = "MARKER step"
			if err := e.SetData(events.StepFinishedData{
				StepStatus: events.StepFailed, AgentRole: "MARKER role", Error: &events.Failure{Message: "MARKER broke", Class: class},
				Metadata: map[string]any{"target": "MARKER at"},
			}); err != nil {
				t.Fatal(err)
			}
			s := new(rules.State)
			apply(t, s, e)
			if !waiting {
				release(t, s)
			}
			erasure := rules.Erasure{Run: e.Run, Events: []string{e.ID}, Issues: map[string]bool{}, Text: "erased"}
			for _, i := range s.Issues() {
				erasure.Issues[i.ID] = true
			}
			for _, r := range s.Changes().Records {
				if r.JSON == nil {
					continue
				}
				data, _, err := erasure.Record(r.Key, r.JSON)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(strings.ToUpper(string(data)), "MARKER") {
					t.Errorf("class %q, waiting %v: %s %s still has %s", class, waiting, r.Kind, r.ID, data)
				}
			}
		}
	}
}

// A result that waits for the denial of its call names a tool, which comes from the event.
func TestErasure_ToolOfASuccess(t *testing.T) {
	h := newHistory(t, "REVIEW").result("c", events.ToolSuccess)
	h.list[0].Data = []byte(`{"tool":"MARKER","status":"success"}`)
	s, _ := fold(t, h.list)
	for _, erasure := range []rules.Erasure{{Run: "r1", Text: "erased"}, {Events: []string{h.list[0].ID}, Text: "erased"}} {
		for _, r := range s.Changes().Records {
			data, _, err := erasure.Record(r.Key, r.JSON)
			if err != nil || strings.Contains(string(data), "MARKER") {
				t.Errorf("%s %s: %s, %v", r.Kind, r.ID, data, err)
			}
		}
		s, _ = fold(t, h.list)
	}
}

// A failure that waits in a tracked run has its error for the reason of the issue.
func TestErasure_ErrorOfAWaitingFailure(t *testing.T) {
	h := newHistory(t, "RESOLVE").start(nil).add(events.StepFinished, "s1", events.StepFinishedData{
		StepStatus: events.StepFailed, AgentRole: "CODER", Error: &events.Failure{Message: "MARKER broke"},
	})
	for _, erasure := range []rules.Erasure{{Run: "r1", Text: "erased"}, {Events: []string{h.list[1].ID}, Text: "erased"}} {
		found := false
		s := new(rules.State)
		apply(t, s, h.list...)
		for _, r := range s.Changes().Records {
			found = found || strings.Contains(string(r.JSON), "MARKER")
			data, _, err := erasure.Record(r.Key, r.JSON)
			if err != nil || strings.Contains(string(data), "MARKER") {
				t.Errorf("%s %s: %s, %v", r.Kind, r.ID, data, err)
			}
		}
		if !found {
			t.Error("no record has the error")
		}
	}
}
