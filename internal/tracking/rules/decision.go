package rules

import (
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Action says how a decision changes an issue. If it makes several changes, Action is the most
// important one.
type Action string

// The actions, weakest first.
const (
	None   Action = "none"
	Record Action = "record" // no effect, but an occurrence of an issue
	Update Action = "update"
	Create Action = "create"
)

// Decision is the result of applying the rules to one event.
type Decision struct {
	Tenant   string             `json:"tenant"`
	Source   string             `json:"source"`
	Event    string             `json:"event"`
	Kind     events.Kind        `json:"kind"`
	Run      string             `json:"run,omitempty"`
	Time     time.Time          `json:"time"` // time of the event
	Action   Action             `json:"action"`
	Rule     string             `json:"rule"` // the rules used, separated by " > "
	Reason   string             `json:"reason"`
	Issues   []string           `json:"issues,omitempty"`
	Occurs   []string           `json:"occurs,omitempty"`   // touched issues that count the event as an occurrence
	Counters map[string]Counter `json:"counters,omitempty"` // counts compared with their limits
	Flip     string             `json:"flip,omitempty"`     // condition that would have changed the decision
	Config   string             `json:"config"`
	Effects  []Effect           `json:"-"` // in order
}

// Counter contains a count and then its limit.
type Counter [2]int64

// ID returns the id of the issue.decided event that publishes d. If d is published again, the id is
// the same.
func (d Decision) ID() string {
	return events.DeriveID(string(events.IssueDecided), d.Tenant, d.Source, d.Event, d.Config)
}

// Data returns d as the payload of its issue.decided event.
func (d Decision) Data() events.IssueDecidedData {
	counters := make(map[string][2]int64, len(d.Counters))
	for name, c := range d.Counters {
		counters[name] = c
	}
	return events.IssueDecidedData{
		Event: d.Event, Action: string(d.Action), Rule: d.Rule, Reason: d.Reason,
		Issues: d.Issues, Counters: counters, Flip: d.Flip, Config: d.Config,
	}
}

// Op says how an effect changes an issue, such as create or label.
type Op string

// Operations on issues.
const (
	OpCreate     Op = "create"
	OpTransition Op = "transition"
	OpLink       Op = "link"
	OpNote       Op = "note"
	OpLabel      Op = "label"
	OpDescribe   Op = "describe"
	OpErase      Op = "erase" // from an erasure order, not from a decision
)

// Effect is one change of one issue. It can be repeated without further effect.
type Effect struct {
	Op     Op        `json:"op"`
	ID     string    `json:"id"`
	At     time.Time `json:"at"`               // time of the event
	Issue  *Issue    `json:"issue,omitempty"`  // create
	To     Status    `json:"to,omitempty"`     // for create and transition
	Reopen bool      `json:"reopen,omitempty"` // for transition: the issue was closed before
	Reason string    `json:"reason,omitempty"` // transition
	Link   *Link     `json:"link,omitempty"`
	Text   string    `json:"text,omitempty"` // text of a note, new description, or replacement for erased texts
	Label  string    `json:"label,omitempty"`
}
