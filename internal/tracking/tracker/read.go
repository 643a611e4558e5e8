package tracker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
)

// ErrNotFound means that no issue or event has the id.
var ErrNotFound = errors.New("no such issue")

// Issue is an issue in the JSON output of the tracker's commands. Later versions keep its fields
// and may add others.
type Issue struct {
	ID          string       `json:"id"`
	Tenant      string       `json:"tenant"`
	Run         string       `json:"run"`
	Kind        rules.Kind   `json:"kind"`
	Title       string       `json:"title"`
	Description string       `json:"description,omitempty"` // entries of a digest
	Status      rules.Status `json:"status"`
	Reason      string       `json:"reason,omitempty"`
	Labels      []string     `json:"labels"`
	Created     time.Time    `json:"created_at"`
	Updated     time.Time    `json:"updated_at"`
	Closed      time.Time    `json:"closed_at,omitzero"`
	Links       []rules.Link `json:"links"`

	Occurrences int       `json:"occurrences"`
	First       time.Time `json:"first_at,omitzero"`
	Last        time.Time `json:"last_at,omitzero"`
	Runs        []string  `json:"runs"` // first runs with an occurrence
}

// List returns the issues of a tenant in the order of creation. An empty tenant means all tenants.
// If dataDir has no tracker database, the list is empty.
func List(ctx context.Context, dataDir, tenant string) ([]Issue, error) {
	list := []Issue{}
	err := store.Read(ctx, dataDir, func(conn *sqlite.Conn) error {
		return store.EachIssue(conn, tenant, store.ByMaking, func(i rules.Issue) error {
			list = append(list, resultOf(i))
			return nil
		})
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return list, nil
}

func find(ctx context.Context, dataDir, tenant, id string) (issue Issue, err error) {
	err = store.Read(ctx, dataDir, func(conn *sqlite.Conn) error {
		issue, err = issueOf(conn, tenant, id)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) || err == nil && issue.ID == "" {
		return Issue{}, fmt.Errorf("%w: %s in tenant %s", ErrNotFound, id, tenant)
	}
	return issue, err
}

func issueOf(conn *sqlite.Conn, tenant, id string) (Issue, error) {
	found, err := store.Find(conn, tenant, id)
	if err != nil || found.ID == "" {
		return Issue{}, err
	}
	return resultOf(found), nil
}

func resultOf(i rules.Issue) Issue {
	p := Issue{
		ID: i.ID, Tenant: i.Tenant, Run: i.Run, Kind: i.Kind, Title: i.Title, Description: i.Description,
		Status: i.Status, Reason: i.Reason, Labels: labels(i),
		Created: i.Created, Updated: i.Updated, Closed: i.Closed, Links: orEmpty(i.Links),
		Occurrences: i.Count, First: i.First, Last: i.Last, Runs: orEmpty(i.Runs),
	}
	for _, label := range i.Labels {
		if !slices.Contains(p.Labels, label) {
			p.Labels = append(p.Labels, label)
		}
	}
	return p
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
