package rules

import (
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Action is the strongest effect of a decision.
type Action string

// The actions from the weakest to the strongest.
const (
	None   Action = "none"   // no effect
	Record Action = "record" // no effect, but it touches an issue, such as by an occurrence
	Update Action = "update" // an issue changed
	Create Action = "create" // an issue was created
)

// Decision is the decision on one event.
type Decision struct {
	Tenant   string             `json:"tenant"`
	Source   string             `json:"source"`
	Event    string             `json:"event"`
	Kind     events.Kind        `json:"kind"`
	Run      string             `json:"run,omitempty"`
	Time     time.Time          `json:"time"` // of the event
	Action   Action             `json:"action"`
	Rule     string             `json:"rule"` // used rules, separated by " > "
	Reason   string             `json:"reason"`
	Issues   []string           `json:"issues,omitempty"`   // touched issues
	Occurs   []string           `json:"occurs,omitempty"`   // touched issues of which the event is an occurrence
	Counters map[string]Counter `json:"counters,omitempty"` // with their limits
	Flip     string             `json:"flip,omitempty"`     // condition that would have changed the decision
	Config   string             `json:"config"`
	Effects  []Effect           `json:"-"` // in order
}

// Counter is a count and its limit.
type Counter [2]int64

// ID returns the id of the issue.decided event of d. It depends only on the event and the
// configuration.
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

// Op is the operation of an effect.
type Op string

// The operations on issues.
const (
	OpCreate     Op = "create"
	OpTransition Op = "transition"
	OpLink       Op = "link"
	OpNote       Op = "note"
	OpLabel      Op = "label"
	OpDescribe   Op = "describe"
	OpErase      Op = "erase" // by an erasure order, not by a decision
)

// Effect is one idempotent operation on one issue.
type Effect struct {
	Op     Op        `json:"op"`
	ID     string    `json:"id"`
	At     time.Time `json:"at"`               // event time
	Issue  *Issue    `json:"issue,omitempty"`  // create
	To     Status    `json:"to,omitempty"`     // create and transition
	Reopen bool      `json:"reopen,omitempty"` // transition: from closed
	Reason string    `json:"reason,omitempty"` // transition
	Link   *Link     `json:"link,omitempty"`
	Text   string    `json:"text,omitempty"` // note; describe: new description; erase: replacement
	Label  string    `json:"label,omitempty"`
}
