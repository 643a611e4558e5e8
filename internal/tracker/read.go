package tracker

import (
	"cmp"
	"context"
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

// Issue is an issue as the commands print it. Fields may be added, never renamed.
type Issue struct {
	ID          string        `json:"id"`
	Tenant      string        `json:"tenant"`
	Run         string        `json:"run"`
	Kind        issues.Kind   `json:"kind"`
	Title       string        `json:"title"`
	Description string        `json:"description,omitempty"` // of a digest: what was folded in
	Status      issues.Status `json:"status"`
	Reason      string        `json:"reason,omitempty"`
	Labels      []string      `json:"labels"`
	Created     time.Time     `json:"created_at"`
	Updated     time.Time     `json:"updated_at"`
	Closed      time.Time     `json:"closed_at,omitzero"`
	Links       []issues.Link `json:"links"`

	Occurrences int64     `json:"occurrences"`       // events that it is made of
	First       time.Time `json:"first_at,omitzero"` // the time of the first of them
	Last        time.Time `json:"last_at,omitzero"`
}

// List returns the issues of tenant by the time of their making; that of nobody
// means everybody's. It only reads the files in dataDir, and finds nothing where
// no tracker was.
func List(ctx context.Context, dataDir, tenant string) ([]Issue, error) {
	list := []Issue{}
	err := read(ctx, dataDir, func(conn *sqlite.Conn) error {
		return eachIssue(conn, tenant, byID, func(i issues.Issue) error {
			p := printed(i)
			list = append(list, p)
			return list[len(list)-1].count(conn)
		})
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Issue) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

// count fills in how many events an issue is made of, and when they were.
func (i *Issue) count(conn *sqlite.Conn) error {
	return each(conn, func(stmt *sqlite.Stmt) (err error) {
		if i.Occurrences = stmt.ColumnInt64(0); i.Occurrences == 0 {
			return nil
		}
		if i.First, err = time.Parse(sorting, stmt.ColumnText(1)); err != nil {
			return fmt.Errorf("read the time of an event: %w", err)
		}
		if i.Last, err = time.Parse(sorting, stmt.ColumnText(2)); err != nil {
			return fmt.Errorf("read the time of an event: %w", err)
		}
		return nil
	}, "SELECT count(*), min(d.time), max(d.time) FROM touched t JOIN decision d ON d.seq = t.decision "+
		"WHERE t.issue = ? AND d.tenant = ? AND t.occurs = 1", i.ID, i.Tenant)
}

// find returns an issue of tenant, or wraps [ErrNotFound].
func find(ctx context.Context, dataDir, tenant, id string) (issue Issue, err error) {
	err = read(ctx, dataDir, func(conn *sqlite.Conn) error {
		issue, err = issueOf(conn, tenant, id)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) || err == nil && issue.ID == "" {
		return Issue{}, fmt.Errorf("%w: %s in tenant %s", ErrNotFound, id, tenant)
	}
	return issue, err
}

// issueOf returns an issue, the zero Issue if there is none.
func issueOf(conn *sqlite.Conn, tenant, id string) (Issue, error) {
	var found issues.Issue
	err := one(conn, &found, "SELECT record FROM record WHERE kind = 'issue' AND tenant = ? AND id = ?", tenant, id)
	if err != nil || found.ID == "" {
		return Issue{}, err
	}
	p := printed(found)
	return p, p.count(conn)
}

// printed returns the issue as the commands print it, its events not counted.
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
