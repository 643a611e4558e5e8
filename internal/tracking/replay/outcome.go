package replay

import (
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
)

// Issue describes one issue in the output of the command whatif. Later versions keep its fields and
// may add others.
type Issue struct {
	ID          string       `json:"id"`
	Tenant      string       `json:"tenant"`
	Kind        rules.Kind   `json:"kind"`
	Title       string       `json:"title"`
	Status      rules.Status `json:"status"`
	Labels      []string     `json:"labels"`      // labels that the rules added
	Events      []string     `json:"events"`      // ids of the occurrences by event time
	Transitions []Transition `json:"transitions"` // the first transition is the creation
	Links       []rules.Link `json:"links"`
}

// Transition is a status change of an issue.
type Transition struct {
	To    rules.Status `json:"to"`
	At    time.Time    `json:"at"`
	Event string       `json:"event"`
}

// Decision describes one decision in the output of the command whatif.
type Decision struct {
	Event  string       `json:"event"`
	Action rules.Action `json:"action"`
	Rule   string       `json:"rule"`
	Reason string       `json:"reason"`
	Issues []string     `json:"issues"`
}

func decisionOf(d rules.Decision) Decision {
	return Decision{Event: d.Event, Action: d.Action, Rule: d.Rule, Reason: d.Reason, Issues: orEmpty(d.Issues)}
}

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

const (
	byArrival = "seq"
	byEvent   = "tenant, event, source" // for the comparison of two replays
)

func eachDecision(conn *sqlite.Conn, order string, do func(rules.Decision) error) error {
	return store.Records(conn, do, "SELECT record FROM decision WHERE record IS NOT NULL ORDER BY "+order)
}

// CountActions counts the decisions by action.
func (r *Replay) CountActions() (map[rules.Action]int, error) {
	actions := map[rules.Action]int{}
	err := eachDecision(r.conn, byArrival, func(d rules.Decision) error { actions[d.Action]++; return nil })
	return actions, err
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
