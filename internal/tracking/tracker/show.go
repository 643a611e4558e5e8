package tracker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Details is an issue with its history.
type Details struct {
	Issue
	Events      []string     `json:"events"` // ids of the occurrences by time
	Transitions []Transition `json:"transitions"`
	Edits       []PersonEdit `json:"edits"`
	Notes       []string     `json:"notes,omitempty"`
	Refused     []Refusal    `json:"refused,omitempty"`
}

// Transition is a status change. The first transition is the creation.
type Transition struct {
	To      rules.Status `json:"to"`
	At      time.Time    `json:"at"`
	Event   string       `json:"event"`
	Reason  string       `json:"reason,omitempty"`
	Refused string       `json:"refused,omitempty"`
}

// PersonEdit is a person's edit and the tracker's decision on it.
type PersonEdit struct {
	Event  string    `json:"event"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

// Refusal describes a change of an issue that Beads refused.
type Refusal struct {
	Op     rules.Op  `json:"op"`
	At     time.Time `json:"at"`
	Event  string    `json:"event"`
	Reason string    `json:"reason"`
}

// Show returns an issue with its history. It reads the files in dataDir. If there is no such issue,
// the error wraps [ErrNotFound].
func Show(ctx context.Context, dataDir, tenant, id string) (Details, error) {
	d := Details{Events: []string{}, Transitions: []Transition{}, Edits: []PersonEdit{}}
	err := store.Read(ctx, dataDir, func(conn *sqlite.Conn) (err error) {
		if d.Issue, err = issueOf(conn, tenant, id); err != nil || d.ID == "" {
			return err
		}
		err = store.EachOccurrence(conn, tenant, id, func(event string) error {
			d.Events = append(d.Events, event)
			return nil
		})
		if err != nil {
			return err
		}
		err = store.Records(conn, d.addEdit, "SELECT d.record FROM touched t JOIN decision d ON d.seq = t.decision "+
			"WHERE t.issue = ? AND d.tenant = ? AND d.kind = ? AND d.record IS NOT NULL ORDER BY d.seq", id, tenant, string(events.IssueEdited))
		if err != nil {
			return err
		}
		return store.EachEffect(conn, tenant, id, d.addEffect)
	})
	if errors.Is(err, fs.ErrNotExist) || err == nil && d.ID == "" {
		return Details{}, fmt.Errorf("%w: %s in tenant %s", ErrNotFound, id, tenant)
	}
	return d, err
}

func (d *Details) addEdit(made rules.Decision) error {
	d.Edits = append(d.Edits, PersonEdit{Event: made.Event, At: made.Time, Reason: made.Reason})
	return nil
}

func (d *Details) addEffect(e store.Effect) error {
	switch e.Op {
	case rules.OpCreate, rules.OpTransition:
		d.Transitions = append(d.Transitions, Transition{To: e.To, At: e.At, Event: e.Event, Reason: e.Reason, Refused: e.Refused})
	case rules.OpNote:
		d.Notes = append(d.Notes, e.Text)
	case rules.OpLink, rules.OpLabel, rules.OpDescribe, rules.OpErase:
	}
	if e.Refused != "" {
		d.Refused = append(d.Refused, Refusal{Op: e.Op, At: e.At, Event: e.Event, Reason: e.Refused})
	}
	return nil
}
