package ledger

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// RunFilter selects runs. The zero value selects all runs.
type RunFilter struct {
	From   time.Time // of the stated start, inclusive; zero is no limit
	To     time.Time // of the stated start, exclusive; zero is no limit
	Agent  string    // [RunSummary.Agent] or [RunSummary.Source]
	Tool   string    // name of a called tool
	Text   string    // part of the run's id, title, first prompt, folder or branch
	States []RunState
	Sealed *bool
}

func (f RunFilter) isAll() bool {
	return !f.hasTimes() && len(f.kinds()) == 0
}

func (f RunFilter) hasTimes() bool { return !f.From.IsZero() || !f.To.IsZero() }

// A run without a stated time is in no range of time, because its times are those of the import.
func (f RunFilter) startsIn(s RunSummary) bool {
	return !f.hasTimes() || !s.Started.IsZero() && !s.Started.Before(f.From) && (f.To.IsZero() || s.Started.Before(f.To))
}

func (f RunFilter) kinds() (kinds []events.Kind) {
	if f.Agent != "" || f.Text != "" {
		kinds = append(kinds, events.RunStarted)
	}
	if f.Text != "" {
		kinds = append(kinds, events.PromptSubmit)
	}
	if f.Tool != "" {
		kinds = append(kinds, events.ToolBefore)
	}
	if len(f.States) > 0 {
		kinds = append(kinds, events.RunFinished)
	}
	if f.Sealed != nil {
		kinds = append(kinds, events.RunSealed)
	}
	return kinds
}

func (f RunFilter) matches(s RunSummary) bool {
	return (f.Sealed == nil || *f.Sealed == s.Sealed) && f.matchesFacts(s)
}

func (f RunFilter) matchesFacts(s RunSummary) bool {
	return f.matchesAgent(s) && f.matchesTool(s) && f.matchesText(s) &&
		(len(f.States) == 0 || slices.Contains(f.States, s.State))
}

func (f RunFilter) matchesAgent(s RunSummary) bool {
	return f.Agent == "" || strings.EqualFold(f.Agent, s.Agent) || strings.EqualFold(f.Agent, s.Source)
}

func (f RunFilter) matchesTool(s RunSummary) bool {
	return f.Tool == "" || slices.ContainsFunc(slices.Collect(maps.Keys(s.ToolCallsByName)), func(tool string) bool {
		return strings.EqualFold(f.Tool, tool)
	})
}

func (f RunFilter) matchesText(s RunSummary) bool {
	return f.Text == "" || slices.ContainsFunc([]string{s.Run, s.Title, s.Prompt, s.Cwd, s.Branch}, func(text string) bool {
		return strings.Contains(strings.ToLower(text), strings.ToLower(f.Text))
	})
}
