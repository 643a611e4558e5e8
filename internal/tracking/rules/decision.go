package rules

import (
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Action is what a decision amounts to.
type Action string

// The actions, the weakest first.
const (
	None   Action = "none"   // no issue is concerned
	Record Action = "record" // an issue has one more occurrence
	Update Action = "update" // an issue changed
	Create Action = "create" // an issue was made
)

// Decision is the record of what was decided on one event, and why.
type Decision struct {
	Tenant   string             `json:"tenant"`
	Source   string             `json:"source"`
	Event    string             `json:"event"`
	Kind     events.Kind        `json:"kind"`
	Run      string             `json:"run,omitempty"`
	Time     time.Time          `json:"time"` // of the event
	Action   Action             `json:"action"`
	Rule     string             `json:"rule"` // the path through the rules, " > " between them
	Reason   string             `json:"reason"`
	Issues   []string           `json:"issues,omitempty"`   // the issues that it touched
	Occurs   []string           `json:"occurs,omitempty"`   // those of them that the event is an occurrence of
	Counters map[string]Counter `json:"counters,omitempty"` // against their limits
	Flip     string             `json:"flip,omitempty"`     // what would have changed it
	Config   string             `json:"config"`
	Effects  []Effect           `json:"-"` // what follows from it, in order
}

// Counter is a count and the limit it is held against.
type Counter [2]int64

// ID returns the id of the issue.decided event of d: a UUIDv8 over the event
// and the configuration, so that deciding again publishes nothing new.
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

// Op is what an effect does to an issue.
type Op string

// The operations on issues.
const (
	OpCreate     Op = "create"
	OpTransition Op = "transition"
	OpLink       Op = "link"
	OpNote       Op = "note"
	OpLabel      Op = "label"
	OpDescribe   Op = "describe"
	OpErase      Op = "erase" // not decided: somebody ordered it
)

// Effect is one operation on one issue. Applying it again changes nothing.
type Effect struct {
	Op     Op        `json:"op"`
	ID     string    `json:"id"`
	At     time.Time `json:"at"`               // event time
	Issue  *Issue    `json:"issue,omitempty"`  // create: as it is to be made
	To     Status    `json:"to,omitempty"`     // create and transition
	Reopen bool      `json:"reopen,omitempty"` // transition: out of closed
	Reason string    `json:"reason,omitempty"` // transition
	Link   *Link     `json:"link,omitempty"`   // link
	Text   string    `json:"text,omitempty"`   // note; describe: the new description; erase: what stands in the place of texts
	Label  string    `json:"label,omitempty"`  // label: one to add
}
