package whatif

import (
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/issuedb"
	"github.com/hooktrail/hooktrail/internal/issues"
)

// Issue is an issue as whatif prints it. Fields may be added, never renamed.
type Issue struct {
	ID          string        `json:"id"`
	Tenant      string        `json:"tenant"`
	Kind        issues.Kind   `json:"kind"`
	Title       string        `json:"title"`
	Status      issues.Status `json:"status"`
	Labels      []string      `json:"labels"`      // that were given to it
	Events      []string      `json:"events"`      // ids of its occurrences, by event time
	Transitions []Transition  `json:"transitions"` // its making included
	Links       []issues.Link `json:"links"`
}

// Transition is a change of an issue's status.
type Transition struct {
	To    issues.Status `json:"to"`
	At    time.Time     `json:"at"`
	Event string        `json:"event"`
}

// Decision is a decision as whatif prints it.
type Decision struct {
	Event  string        `json:"event"`
	Action issues.Action `json:"action"`
	Rule   string        `json:"rule"`
	Reason string        `json:"reason"`
	Issues []string      `json:"issues"`
}

// decisionOf returns the decision as whatif prints it.
func decisionOf(d issues.Decision) Decision {
	return Decision{Event: d.Event, Action: d.Action, Rule: d.Rule, Reason: d.Reason, Issues: orEmpty(d.Issues)}
}

// transitions returns the changes of an issue's status.
func transitions(conn *sqlite.Conn, tenant, id string) ([]Transition, error) {
	list := []Transition{}
	err := issuedb.EachEffect(conn, tenant, id, func(e issuedb.Effect) error {
		if e.Op == issues.OpCreate || e.Op == issues.OpTransition {
			list = append(list, Transition{To: e.To, At: e.At, Event: e.Event})
		}
		return nil
	})
	return list, err
}

// The orders of decisions: that in which their events came, and that in which two
// replays are compared.
const (
	asTheyCame = "seq"
	byEvent    = "tenant, event, source"
)

// eachDecision calls do for the decisions of a replay.
func eachDecision(conn *sqlite.Conn, order string, do func(issues.Decision) error) error {
	return issuedb.Records(conn, do, "SELECT record FROM decision WHERE record IS NOT NULL ORDER BY "+order)
}

// orEmpty returns list, which is one in JSON even when it is empty.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
