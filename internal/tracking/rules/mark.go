package rules

import (
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type mark struct {
	Source string   `json:"source,omitempty"`
	Seen   bool     `json:"seen,omitempty"`
	Given  bool     `json:"given,omitempty"`  // the event has a decision
	Issues []string `json:"issues,omitempty"` // created follow-ups first, then other created issues, then occurrences
	Edits  []edit   `json:"edits,omitempty"`
	Sum    string   `json:"sum,omitempty"`    // hash from contentOf. Empty for events of earlier versions
	Others []string `json:"others,omitempty"` // hashes of other contents under the same id
}

var marks = table[mark]{"event", func(m *mark) {
	m.Issues, m.Edits, m.Others = slices.Clone(m.Issues), slices.Clone(m.Edits), slices.Clone(m.Others)
}}

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
