package rules

import (
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// mark is what is kept of an event: that it is decided on or held, the issues it
// belongs to, and the edits that name it and wait for it.
type mark struct {
	Source string   `json:"source,omitempty"`
	Seen   bool     `json:"seen,omitempty"`   // it came
	Given  bool     `json:"given,omitempty"`  // it is decided on
	Issues []string `json:"issues,omitempty"` // those it made come first, follow-ups before others
	Edits  []edit   `json:"edits,omitempty"`
}

var marks = table[mark]{"event", func(m *mark) { m.Issues, m.Edits = slices.Clone(m.Issues), slices.Clone(m.Edits) }}

// markID returns the id of the record of an event. It is the event's own, by
// which edits name it, unless another source chose that before.
func (p *pass) markID(event, source string) string {
	m := marks.get(p.state, p.tenant, event)
	if m == nil || !m.Seen || m.Source == source {
		return event
	}
	return event + "\n" + source
}

// decided reports whether e came before.
func (p *pass) decided(e events.Event) bool {
	m := marks.get(p.state, p.tenant, p.markID(e.ID, e.Source))
	return m != nil && m.Seen
}
