package ledger

import (
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// RunState says how a run ended, or why its end is not known.
type RunState string

// The values of [RunState].
const (
	RunOpen        RunState = "open" // it has no run.finished event, or goes on after one
	RunCompleted   RunState = RunState(events.RunCompleted)
	RunFailed      RunState = RunState(events.RunFailed)
	RunInterrupted RunState = RunState(events.RunInterrupted)
	RunUnknown     RunState = RunState(events.RunUnknown)
	RunErased      RunState = RunState(Erased) // an order destroyed the record of the end
	RunPruned      RunState = RunState(Pruned)
	RunSetApart    RunState = "set-apart" // none of its records is an event
)

// RunStates are all states.
var RunStates = []RunState{ //nolint:gochecknoglobals // a constant
	RunOpen, RunCompleted, RunFailed, RunInterrupted, RunUnknown, RunErased, RunPruned, RunSetApart,
}

type removedRun struct {
	agents   int  // events that are not service records
	finished bool // a removed event is the end of the run
	word     Word // of the latest removal
}

func (r *removedRun) add(e Entry) {
	if !IsServiceRecord(e.Kind) {
		r.agents++
		r.finished = r.finished || e.Kind == events.RunFinished
		r.word = e.Removal.Word
	}
}

func (r *removedRun) stateOf(s RunSummary) RunState {
	service := 0
	for kind, n := range s.Kinds {
		if IsServiceRecord(kind) {
			service += n
		}
	}
	switch {
	case s.Finished != nil:
		return RunState(s.Finished.Status())
	case r.finished, r.agents > 0 && r.agents == s.Events-service:
		return RunState(r.word)
	case s.Events == 0:
		return RunSetApart
	}
	return RunOpen
}

const maxPrompt = 300

func clipPrompt(prompt string) string {
	if len(prompt) > 4*maxPrompt {
		prompt = strings.ToValidUTF8(prompt[:4*maxPrompt], "")
	}
	line := []rune(strings.Join(strings.Fields(prompt), " "))
	if len(line) > maxPrompt {
		line = append(slices.Clip(line[:maxPrompt-1]), '…')
	}
	return string(line)
}
