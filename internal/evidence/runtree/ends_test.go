package runtree

import (
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Of two ends of a step with the same time the stronger one counts, whichever came first.
func TestTrace_EndsAtTheSameTime(t *testing.T) {
	ends := []events.StepFinishedData{
		{StepStatus: events.StepCompleted, OutputSummary: "b", TokensUsed: &events.Tokens{Input: 1}},
		{StepStatus: events.StepInterrupted, OutputSummary: "c", DurationMS: 7},
		{StepStatus: events.StepInterrupted, OutputSummary: "a"},
	}
	for range 2 {
		var f Fold
		for _, end := range ends {
			e, err := events.New(events.StepFinished, "s", end)
			if err != nil {
				t.Fatal(err)
			}
			e.Run, e.Step, e.Time = "r", "1", time.Unix(5, 0)
			f.Add(e)
		}
		if s := f.Trace("r").Steps[0]; s.Status != events.StepInterrupted || s.Output != "c" || s.Tokens.Input != 1 {
			t.Errorf("got %s %q %v", s.Status, s.Output, s.Tokens)
		}
		slices.Reverse(ends)
	}
}

func runEnd(t *testing.T, id string, at int64, kind events.Kind, payload any) events.Event {
	t.Helper()
	e, err := events.New(kind, "s", payload)
	if err != nil {
		t.Fatal(err)
	}
	e.ID, e.Run, e.Time = id, "r", time.Unix(at, 0)
	return e
}

// Of several ends of a run the same one counts in each order of delivery.
func TestTrace_EndsInEachOrder(t *testing.T) {
	end := func(id string, at int64, status events.RunStatus, reason string, cost float64) events.Event {
		return runEnd(t, id, at, events.RunFinished, events.RunFinishedData{RunStatus: status, Reason: reason, Cost: &events.Cost{USD: cost}})
	}
	ends := []events.Event{
		end("a", 5, events.RunFailed, "", 1), end("b", 5, events.RunCompleted, "", 2), end("c", 5, events.RunFailed, "", 3),
		end("d", 4, events.RunInterrupted, "", 4), end("e", 9, events.RunUnknown, events.ReasonIdle, 5),
	}
	for order := range permutations(len(ends)) {
		var f Fold
		for _, i := range order {
			f.Add(ends[i])
		}
		if trace := f.Trace("r"); trace.RunStatus != events.RunFailed || trace.Cost.USD != 3 {
			t.Fatalf("%v: got %s and %v", order, trace.RunStatus, trace.Cost)
		}
	}
}

func permutations(n int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		var fill func(list []int) bool
		fill = func(list []int) bool {
			if len(list) == n {
				return yield(list)
			}
			for i := range n {
				if !slices.Contains(list, i) && !fill(append(slices.Clone(list), i)) {
					return false
				}
			}
			return true
		}
		fill(nil)
	}
}

// A run goes on if an event follows an end that only its silence tells, until the next end.
func TestTrace_GoesOnAfterSilence(t *testing.T) {
	call, other := events.ToolBeforeData{Tool: "Bash"}, events.CustomData{Name: "x"}
	for name, c := range map[string]struct {
		reason string
		later  []events.Event
		want   events.RunStatus
	}{
		"silent":             {events.ReasonIdle, nil, events.RunUnknown},
		"goes on":            {events.ReasonIdle, []events.Event{runEnd(t, "b", 9, events.ToolBefore, call)}, ""},
		"goes on after log":  {events.ReasonEndOfLog, []events.Event{runEnd(t, "b", 9, events.ToolBefore, call)}, ""},
		"late event":         {events.ReasonIdle, []events.Event{runEnd(t, "b", 3, events.ToolBefore, call)}, events.RunUnknown},
		"custom event":       {events.ReasonIdle, []events.Event{runEnd(t, "b", 9, events.Custom, other)}, events.RunUnknown},
		"left in a turn":     {events.ReasonInTurn, []events.Event{runEnd(t, "b", 9, events.ToolBefore, call)}, events.RunUnknown},
		"reported end":       {"cut off", []events.Event{runEnd(t, "b", 9, events.ToolBefore, call)}, events.RunUnknown},
		"silent again":       {events.ReasonIdle, []events.Event{runEnd(t, "b", 9, events.ToolBefore, call), runEnd(t, "c", 9, events.RunFinished, events.RunFinishedData{RunStatus: events.RunUnknown, Reason: events.ReasonIdle})}, events.RunUnknown},
		"completed meantime": {events.ReasonIdle, []events.Event{runEnd(t, "b", 9, events.ToolBefore, call), runEnd(t, "c", 7, events.RunFinished, events.RunFinishedData{Success: true})}, events.RunCompleted},
	} {
		list := append([]events.Event{
			runEnd(t, "a", 5, events.RunFinished, events.RunFinishedData{RunStatus: events.RunUnknown, Reason: c.reason}),
		}, c.later...)
		for range 2 {
			var f Fold
			for _, e := range list {
				f.Add(e)
			}
			if trace := f.Trace("r"); trace.RunStatus != c.want || trace.Finished != (c.want != "") {
				t.Errorf("%s: got %q, finished %t, want %q", name, trace.RunStatus, trace.Finished, c.want)
			}
			slices.Reverse(list)
		}
	}
}
