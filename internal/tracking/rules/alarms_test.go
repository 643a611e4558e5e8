package rules_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// called builds an event of the tool call id.
func (h *history) called(id string, kind events.Kind, payload any) *history {
	h.tb.Helper()
	h.add(kind, "s", payload)
	h.list[len(h.list)-1].ToolCall = id
	return h
}

func (h *history) before(id string, v events.Verdict) *history {
	h.tb.Helper()
	return h.called(id, events.ToolBefore, events.ToolBeforeData{Tool: "Bash", Outcome: events.Outcome{Verdict: v}})
}

func (h *history) result(id string, s events.ToolStatus) *history {
	h.tb.Helper()
	return h.called(id, events.ToolResult, events.ToolResultData{Tool: "Bash", Status: s})
}

func alarmsOf(s *rules.State) (list []rules.Issue) {
	for _, i := range s.Issues() {
		if i.Kind == rules.Alarm {
			list = append(list, i)
		}
	}
	return list
}

// A denial and a success are of the same call if run and id are equal, whatever characters they have.
func TestAlarm_CallsAreRunAndID(t *testing.T) {
	for _, c := range [][2][2]string{{{"a", "b\nc"}, {"a\nb", "c"}}, {{"a\n1", "1x"}, {"a\n11", "x"}}, {{"3 a\nb", "c"}, {"a\nb", "c"}}} {
		h := newHistory(t, "REVIEW").before(c[0][1], events.VerdictDeny).result(c[1][1], events.ToolSuccess)
		for i := range h.list {
			h.list[i].Run = c[i][0]
		}
		if s, _ := fold(t, h.list); len(alarmsOf(s)) != 0 {
			t.Errorf("%q: %d alarms", c, len(alarmsOf(s)))
		}
		h.list[0].Run, h.list[0].ToolCall = c[1][0], c[1][1]
		if s, _ := fold(t, h.list); len(alarmsOf(s)) != 1 {
			t.Errorf("the same call %q: %d alarms", c[1], len(alarmsOf(s)))
		}
	}
}

//guarantee:denied-result
func TestAlarm_ResultOfADeniedCall(t *testing.T) {
	for name, tt := range map[string]struct {
		make  func(*history)
		count int // occurrences of the alarm
	}{
		"Denied": {func(h *history) { h.before("c", events.VerdictDeny).result("c", events.ToolSuccess) }, 1},
		"TwoResults": {func(h *history) {
			h.before("c", events.VerdictDeny).result("c", events.ToolSuccess).result("c", events.ToolSuccess)
		}, 2},
		"ErrorThenMore": {func(h *history) {
			h.before("c", events.VerdictDeny).result("c", events.ToolError).result("c", events.ToolSuccess)
		}, 1},
		"Error":       {func(h *history) { h.before("c", events.VerdictDeny).result("c", events.ToolError) }, 0},
		"Allowed":     {func(h *history) { h.before("c", events.VerdictAllow).result("c", events.ToolSuccess) }, 0},
		"AnotherCall": {func(h *history) { h.before("c", events.VerdictDeny).result("d", events.ToolSuccess) }, 0},
		"ErrorFirst":  {func(h *history) { h.result("c", events.ToolError).before("c", events.VerdictDeny) }, 0},
		"AllowedLate": {func(h *history) { h.result("c", events.ToolSuccess).before("c", events.VerdictAllow) }, 0},
		"OtherForms": {func(h *history) {
			h.before("c", events.VerdictDeny).result("c", events.ToolSuccess)
			h.list[0].Data = []byte(`{"Verdict":"d\u0065ny","verdict":"allow","executions":5}`)
			h.list[1].Data = []byte(`{"tool":"Bash","status":"success","status":"error","duration_ms":"x"}`)
		}, 1},
		"DeniedByPerson": {func(h *history) {
			h.called("c", events.Approval, events.ApprovalData{Outcome: events.Outcome{Verdict: events.VerdictDeny}}).result("c", events.ToolSuccess)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t, "REVIEW")
			tt.make(h)
			h.list[len(h.list)-1].Hooks = "none" // a forged event can have any attribute
			list := h.list
			if tt.count > 0 { // repeated events change nothing
				list = append(list, list...)
			}
			s, decisions := fold(t, list)
			found := alarmsOf(s)
			if tt.count == 0 {
				if len(found)+len(decisions) != 0 {
					t.Errorf("got alarms %+v, decisions %+v", found, decisions)
				}
				return
			}
			if len(found) != 1 || found[0].Count != tt.count || found[0].Status != rules.Open || len(decisions) != tt.count {
				t.Fatalf("got alarms %+v, decisions %+v", found, decisions)
			}
			d := decisions[0]
			if d.Kind != events.ToolResult || d.Action != rules.Create || !strings.HasPrefix(d.Rule, "denied call succeeded") ||
				!strings.Contains(d.Reason, h.list[0].ID) || d.Flip == "" {
				t.Errorf("it is not explained: %+v", d)
			}
			if !strings.Contains(found[0].Title, "Bash in run r1") || !strings.Contains(found[0].Description, h.list[0].ID) {
				t.Errorf("the issue does not name the call: %+v", found[0])
			}
			sameAfterRestarts(t, list, s)
		})
	}
}

// The denial and the results of a call come from two outboxes, so any of them can be first in the
// stream. The decisions and the issue are the same, also if events are delivered twice.
//
//guarantee:denied-result
func TestAlarm_AnyOrder(t *testing.T) {
	h := newHistory(t, "REVIEW").before("c", events.VerdictDeny).result("c", events.ToolSuccess).result("c", events.ToolSuccess)
	denial, first, second := h.list[0], h.list[1], h.list[2]
	want, decisions := fold(t, h.list)
	if found := alarmsOf(want); len(found) != 1 || found[0].Count != 2 || len(decisions) != 2 {
		t.Fatalf("got %+v, %d decisions", found, len(decisions))
	}
	for name, list := range map[string][]events.Event{
		"Between":       {first, denial, second},
		"Last":          {first, second, denial},
		"Twice":         {first, first, second, first, denial, second, first, denial},
		"FirstThenBoth": {denial, first, denial, first, second},
	} {
		t.Run(name, func(t *testing.T) {
			s, got := fold(t, list)
			if diff := cmp.Diff(decisions, got); diff != "" {
				t.Errorf("decisions (-denial first +got):\n%s", diff)
			}
			if diff := cmp.Diff(alarmsOf(want), alarmsOf(s)); diff != "" {
				t.Errorf("alarms (-denial first +got):\n%s", diff)
			}
			sameAfterRestarts(t, list, s)
		})
	}
}

// A client that sends many results or calls does not fill the tracker.
func TestAlarm_Bounded(t *testing.T) {
	for _, isDenialFirst := range []bool{true, false} {
		h := newHistory(t, "REVIEW")
		for range 20 {
			h.result("c", events.ToolSuccess)
		}
		h.before("c", events.VerdictDeny)
		if isDenialFirst {
			h.list = append([]events.Event{h.list[20]}, h.list[:20]...)
		}
		s, decisions := fold(t, h.list)
		if found := alarmsOf(s); len(found) != 1 || found[0].Count != 8 || len(decisions) != 8 {
			t.Errorf("denial first %t: %+v, %d decisions", isDenialFirst, found, len(decisions))
		}
	}
	if race.Size(1, 0) == 0 {
		return
	}
	h := newHistory(t, "REVIEW")
	const limit = 1 << 15
	h.result("0", events.ToolSuccess)
	result := h.list[0]
	for n := 1; n <= limit; n++ {
		result.ID, result.ToolCall = fmt.Sprint("result-", n), fmt.Sprint(n)
		h.list = append(h.list, result)
	}
	h.before("0", events.VerdictDeny).before("1", events.VerdictDeny)
	s, _ := fold(t, h.list)
	if found := alarmsOf(s); len(found) != 1 || !strings.Contains(found[0].Description, "result-1 ") {
		t.Errorf("after %d calls: %+v", limit, found)
	}
}

// Only a person closes an alarm, and one issue stands for each call until the limits.
func TestAlarm_PeopleAndLimits(t *testing.T) {
	h := newHistory(t, "REVIEW")
	h.before("c", events.VerdictDeny).result("c", events.ToolSuccess)
	h.add(events.IssueEdited, "", events.IssueEditedData{Event: h.list[1].ID, Action: "closed", By: "jdoe"})
	h.result("c", events.ToolSuccess).end(true, nil)
	s, _ := fold(t, h.list)
	if found := alarmsOf(s); len(found) != 1 || found[0].Status != rules.Closed || found[0].Count != 2 {
		t.Errorf("after the edit of a person: %+v", found)
	}
	h = newHistory(t, "REVIEW")
	for n := range 40 {
		h.before(fmt.Sprint(n), events.VerdictDeny).result(fmt.Sprint(n), events.ToolSuccess)
	}
	s, decisions := fold(t, h.list)
	if n := kinds(s.Issues()); n[rules.Alarm] != 5 || n[rules.Digest] != 1 || len(decisions) != 40 {
		t.Errorf("of 40 alarms there are %v and %d decisions", n, len(decisions))
	}
}

//guarantee:id-taken
func TestAlarm_IDReused(t *testing.T) {
	h := newHistory(t, "REVIEW").start(nil).step("s", events.StepFailed, "", nil).end(false, nil)
	forged := h.list[1]
	if err := forged.SetData(events.StepFinishedData{StepStatus: events.StepCompleted}); err != nil {
		t.Fatal(err)
	}
	other := forged
	if err := other.SetData(events.StepFinishedData{StepStatus: events.StepSkipped}); err != nil {
		t.Fatal(err)
	}
	list := append(h.list, forged, forged, other)
	s, decisions := fold(t, list)
	found := alarmsOf(s)
	if len(found) != 1 || found[0].Count != 2 || !strings.Contains(found[0].Title, forged.ID) {
		t.Fatalf("got %+v", found)
	}
	ids := make(map[string]bool)
	named := 0
	for _, d := range decisions {
		ids[d.ID()] = true
		if d.Event == forged.ID && strings.HasPrefix(d.Rule, "id reused") {
			named++
		}
	}
	if len(ids) != len(decisions) || named != 2 {
		t.Errorf("%d decisions with %d ids, %d of them about the id", len(decisions), len(ids), named)
	}
	sameAfterRestarts(t, list, s)
}

// Imports of the same input by two versions, or with other prices, are no alarm.
//
//guarantee:id-taken
func TestAlarm_ImportedWithOtherPrices(t *testing.T) {
	h := newHistory(t, "REVIEW").start(nil).step("s", events.StepCompleted, "", nil).end(true, nil)
	again := func(n int, step, data string) events.Event {
		e := h.list[n]
		e.Step, e.Data = step, json.RawMessage(data)
		return e
	}
	h.list[2].Data = json.RawMessage(`{"success":true,"cost":{"usd":1,"estimated":true}}`)
	list := append(slices.Clone(h.list),
		again(1, "other", string(h.list[1].Data)),
		again(2, "", `{"success":true,"cost":{"usd":2,"estimated":true}}`), again(2, "", `{"success":true,"untimed":true}`))
	s, _ := fold(t, list)
	if found := alarmsOf(s); len(found) != 0 {
		t.Errorf("got %+v", found)
	}
	s, _ = fold(t, append(list, again(2, "", `{"success":true,"cost":{"usd":1}}`)))
	if found := alarmsOf(s); len(found) != 1 {
		t.Errorf("another cost: got %+v", found)
	}
}

func sameAfterRestarts(t *testing.T, list []events.Event, s *rules.State) {
	t.Helper()
	store, _ := restarted(t, list)
	if diff := cmp.Diff(store, stored(s)); diff != "" {
		t.Errorf("state (-restarted +straight):\n%.2000s", diff)
	}
}

// A hook payload that was recorded twice has other hook executions, and is no alarm.
func TestAlarm_RecordedTwice(t *testing.T) {
	h := newHistory(t, "REVIEW")
	h.start(map[string]any{"a": 1})
	h.list[0].Data = []byte(`{"run_type":"REVIEW","metadata":{"a":1}}`)
	again := h.list[0]
	again.Producer, again.Sequence = "other", 7
	again.Data = []byte(`{"metadata": {"a":1}, "run_type":"REVIEW","verdict":"none","executions":[{"hook":"x","success":true}]}`)
	if s, _ := fold(t, append(h.list, again)); len(alarmsOf(s)) != 0 {
		t.Errorf("got %+v", alarmsOf(s))
	}
}
