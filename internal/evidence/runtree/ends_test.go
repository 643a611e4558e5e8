package runtree

import (
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
