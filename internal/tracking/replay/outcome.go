package replay

import (
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
)

// Issue is an issue as whatif prints it. Fields may be added, never renamed.
type Issue struct {
	ID          string       `json:"id"`
	Tenant      string       `json:"tenant"`
	Kind        rules.Kind   `json:"kind"`
	Title       string       `json:"title"`
	Status      rules.Status `json:"status"`
	Labels      []string     `json:"labels"`      // that were given to it
	Events      []string     `json:"events"`      // ids of its occurrences, by event time
	Transitions []Transition `json:"transitions"` // its making included
	Links       []rules.Link `json:"links"`
}

// Transition is a change of an issue's status.
type Transition struct {
	To    rules.Status `json:"to"`
	At    time.Time    `json:"at"`
	Event string       `json:"event"`
}

// Decision is a decision as whatif prints it.
type Decision struct {
	Event  string       `json:"event"`
	Action rules.Action `json:"action"`
	Rule   string       `json:"rule"`
	Reason string       `json:"reason"`
	Issues []string     `json:"issues"`
}

// decisionOf returns the decision as whatif prints it.
func decisionOf(d rules.Decision) Decision {
	return Decision{Event: d.Event, Action: d.Action, Rule: d.Rule, Reason: d.Reason, Issues: orEmpty(d.Issues)}
}

// transitions returns the changes of an issue's status.
func transitions(conn *sqlite.Conn, tenant, id string) ([]Transition, error) {
	list := []Transition{}
	err := store.EachEffect(conn, tenant, id, func(e store.Effect) error {
		if e.Op == rules.OpCreate || e.Op == rules.OpTransition {
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
func eachDecision(conn *sqlite.Conn, order string, do func(rules.Decision) error) error {
	return store.Records(conn, do, "SELECT record FROM decision WHERE record IS NOT NULL ORDER BY "+order)
}

// orEmpty returns list, which is one in JSON even when it is empty.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
