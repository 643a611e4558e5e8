package rules

import (
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// mark records that an event was seen, the issues to which it belongs, and the edits that name
// it and wait for its decision.
type mark struct {
	Source string   `json:"source,omitempty"`
	Seen   bool     `json:"seen,omitempty"`
	Given  bool     `json:"given,omitempty"`  // its decision exists
	Issues []string `json:"issues,omitempty"` // created follow-ups, then other created ones, then occurrences
	Edits  []edit   `json:"edits,omitempty"`
}

var marks = table[mark]{"event", func(m *mark) { m.Issues, m.Edits = slices.Clone(m.Issues), slices.Clone(m.Edits) }}

// markID returns the id of the mark of an event. It is the id of the event, because edits name
// only this id. If another source used the id before, the source is appended.
func markID(r records, event, source string) string {
	m := marks.get(r, event)
	if m == nil || !m.Seen || m.Source == source {
		return event
	}
	return event + "\n" + source
}

func seenBefore(r records, e events.Event) bool {
	return marks.view(r, markID(r, e.ID, e.Source)).Seen
}

func (m *mark) subject() string {
	if m == nil || len(m.Issues) == 0 {
		return ""
	}
	return m.Issues[0]
}
