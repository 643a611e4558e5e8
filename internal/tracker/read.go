package tracker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/issues"
	"github.com/hooktrail/hooktrail/internal/projection"
)

// ErrNotFound is returned for an issue that the tracker does not have.
var ErrNotFound = errors.New("no such issue")

// Issue is an issue as the commands print it.
type Issue struct {
	ID          string        `json:"id"`
	Tenant      string        `json:"tenant"`
	Run         string        `json:"run"`
	Kind        issues.Kind   `json:"kind"`
	Title       string        `json:"title"`
	Description string        `json:"description,omitempty"`
	Status      issues.Status `json:"status"`
	Reason      string        `json:"reason,omitempty"`
	Labels      []string      `json:"labels"`
	Created     time.Time     `json:"created_at"`
	Updated     time.Time     `json:"updated_at"`
	Closed      time.Time     `json:"closed_at,omitzero"`
	Links       []issues.Link `json:"links"`
}

// Details are all that the tracker knows of an issue.
type Details struct {
	Issue
	Events      []string     `json:"events"` // ids of all that belong to it, in the order in which they were decided on
	Transitions []Transition `json:"transitions"`
	Notes       []string     `json:"notes,omitempty"`
}

// Transition is a change of an issue's status, its making included.
type Transition struct {
	To     issues.Status `json:"to"`
	At     time.Time     `json:"at"`
	Event  string        `json:"event"`
	Reason string        `json:"reason,omitempty"`
	// Refused says why the backend would not have it.
	Refused string `json:"refused,omitempty"`
}

// List returns the issues of tenant by the time of their making; that of nobody
// means everybody's. It only reads the files in dataDir, and finds nothing where
// no tracker was.
func List(ctx context.Context, dataDir, tenant string) ([]Issue, error) {
	list := []Issue{}
	err := read(ctx, dataDir, func(conn *sqlite.Conn) error {
		return record(conn, func(i issues.Issue) { list = append(list, printed(i)) },
			"SELECT record FROM issue WHERE ?1 = '' OR tenant = ?1", tenant)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Issue) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

// Show returns all that is known of an issue of tenant.
func Show(ctx context.Context, dataDir, tenant, id string) (Details, error) {
	d := Details{Events: []string{}, Transitions: []Transition{}}
	err := read(ctx, dataDir, func(conn *sqlite.Conn) error {
		if err := one(conn, (*shown)(&d.Issue), "SELECT record FROM issue WHERE id = ? AND tenant = ?", id, tenant); err != nil {
			return err
		}
		err := each(conn, func(stmt *sqlite.Stmt) error {
			d.Events = append(d.Events, stmt.ColumnText(0))
			return nil
		}, "SELECT d.event FROM touched t JOIN decision d ON d.seq = t.decision WHERE t.issue = ? AND d.tenant = ? ORDER BY d.seq",
			id, tenant)
		if err != nil {
			return err
		}
		return each(conn, d.addEffect, "SELECT e.record, d.event, e.outcome FROM effect e JOIN decision d ON d.seq = e.decision "+
			"WHERE e.issue = ? AND e.tenant = ? ORDER BY e.seq", id, tenant)
	})
	if errors.Is(err, fs.ErrNotExist) || err == nil && d.ID == "" {
		return Details{}, fmt.Errorf("%w: %s in tenant %s", ErrNotFound, id, tenant)
	}
	return d, err
}

// addEffect takes in an effect on the issue, the event it comes from, and why it
// was refused.
func (d *Details) addEffect(stmt *sqlite.Stmt) error {
	var e issues.Effect
	if err := json.Unmarshal([]byte(stmt.ColumnText(0)), &e); err != nil {
		return fmt.Errorf("decode effect: %w", err)
	}
	switch e.Op {
	case issues.OpCreate, issues.OpTransition:
		d.Transitions = append(d.Transitions, Transition{
			To: e.To, At: e.At, Event: stmt.ColumnText(1), Reason: e.Reason, Refused: stmt.ColumnText(2),
		})
	case issues.OpNote:
		d.Notes = append(d.Notes, e.Text)
	case issues.OpLink, issues.OpErase:
	}
	return nil
}

// shown is an Issue that is read from the record of an [issues.Issue].
type shown Issue

// UnmarshalJSON implements [json.Unmarshaler].
func (s *shown) UnmarshalJSON(data []byte) error {
	var i issues.Issue
	if err := json.Unmarshal(data, &i); err != nil {
		return err
	}
	*s = shown(printed(i))
	return nil
}

// printed returns the issue as the commands print it.
func printed(i issues.Issue) Issue {
	p := Issue{
		ID: i.ID, Tenant: i.Tenant, Run: i.Run, Kind: i.Kind, Title: i.Title, Description: i.Description,
		Status: i.Status, Reason: i.Reason, Labels: labels(i),
		Created: i.Created, Updated: i.Updated, Closed: i.Closed, Links: i.Links,
	}
	if p.Links == nil {
		p.Links = []issues.Link{}
	}
	return p
}

// read runs fn on a snapshot of the tracker's database.
func read(ctx context.Context, dataDir string, fn func(*sqlite.Conn) error) error {
	return projection.Read(ctx, File(dataDir), schema, fn)
}
