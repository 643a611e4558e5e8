package beads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/projection"
)

// Schema makes the table of a [Store]. It goes into the schema of the database
// that the store is opened on. A record is a line of issues.jsonl.
const Schema = `
CREATE TABLE bead (
	tenant TEXT NOT NULL,
	id     TEXT NOT NULL,
	record TEXT NOT NULL,
	PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
`

// Store is the embedded backend: the workspaces of all tenants. Changes are
// kept in memory until [Store.Flush] puts them on disk together; [Store.Export]
// writes them into the workspaces' files. Its methods may be called
// concurrently.
type Store struct {
	db  *projection.DB
	dir string

	mu      sync.Mutex // guards what follows; held while the database or a file is written
	pending map[beadKey]Issue
	stale   map[string]bool // tenants whose file is behind
}

type beadKey struct{ tenant, id string }

// NewStore returns the store whose table is in db, with the folders of its
// workspaces in dir. Close db after its last use.
func NewStore(db *projection.DB, dir string) *Store {
	return &Store{db: db, dir: dir, pending: make(map[beadKey]Issue), stale: make(map[string]bool)}
}

// Workspace returns the workspace of tenant.
func (s *Store) Workspace(tenant string) Backend { return &workspace{store: s, tenant: tenant} }

// Flush puts on disk, in one transaction, what was changed since the last one.
func (s *Store) Flush(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) == 0 {
		return nil
	}
	err := s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		for key, issue := range s.pending {
			line, err := issue.AppendLine(nil)
			if err != nil {
				return err
			}
			err = sqlitex.Execute(conn, "INSERT OR REPLACE INTO bead (tenant, id, record) VALUES (?, ?, ?)",
				&sqlitex.ExecOptions{Args: []any{key.tenant, key.id, string(line[:len(line)-1])}})
			if err != nil {
				return fmt.Errorf("store issue %s: %w", key.id, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("flush issues: %w: %w", ErrTransient, err)
	}
	for key := range s.pending {
		s.stale[key.tenant] = true
	}
	clear(s.pending)
	return nil
}

// load returns the issue as it was changed last. The caller holds mu.
func (s *Store) load(ctx context.Context, key beadKey) (Issue, error) {
	if issue, ok := s.pending[key]; ok {
		return issue, nil
	}
	var issue Issue
	found := false
	err := s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, "SELECT record FROM bead WHERE tenant = ? AND id = ?", &sqlitex.ExecOptions{
			Args: []any{key.tenant, key.id},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				var err error
				found = true
				issue, err = ParseLine([]byte(stmt.ColumnText(0)))
				return err
			},
		})
	})
	switch {
	case errors.Is(err, ErrInvalid):
		return Issue{}, err
	case err != nil:
		return Issue{}, fmt.Errorf("load issue %s: %w: %w", key.id, ErrTransient, err)
	case !found:
		return Issue{}, fmt.Errorf("issue %s: %w", key.id, ErrNotFound)
	}
	return issue, nil
}

// workspace is one tenant's part of a Store.
type workspace struct {
	store  *Store
	tenant string
}

// change loads an issue, has do change it, and keeps it if do says that it
// changed something.
func (w *workspace) change(ctx context.Context, id string, do func(*Issue) (changed bool, err error)) error {
	s := w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	key := beadKey{w.tenant, id}
	issue, err := s.load(ctx, key)
	if errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err != nil {
		return err
	}
	// The lists may be shared with what is pending.
	issue.Dependencies, issue.Comments = slices.Clone(issue.Dependencies), slices.Clone(issue.Comments)
	changed, err := do(&issue)
	if err != nil || !changed {
		return err
	}
	if err := issue.Validate(); err != nil {
		return err
	}
	s.pending[key] = issue
	return nil
}

// Ensure implements [Writer].
func (w *workspace) Ensure(ctx context.Context, issue Issue) error {
	if err := issue.Validate(); err != nil {
		return err
	}
	s := w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	key := beadKey{w.tenant, issue.ID}
	_, err := s.load(ctx, key)
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	issue.Labels = slices.Sorted(slices.Values(issue.Labels))
	s.pending[key] = issue
	return nil
}

// Transition implements [Writer].
func (w *workspace) Transition(ctx context.Context, t Transition) error {
	if err := t.To.validate(t.Issue); err != nil {
		return err
	}
	return w.change(ctx, t.Issue, func(i *Issue) (bool, error) {
		switch {
		case t.At.Before(i.UpdatedAt), t.To == i.Status && t.At.Equal(i.UpdatedAt):
			return false, nil
		case i.Status == Closed && t.To != Closed && !t.Reopen:
			if t.At.Equal(i.UpdatedAt) {
				return false, nil // asked for again: the closing of the same time came after it
			}
			return false, fmt.Errorf("issue %s is closed, not to become %s: %w", i.ID, t.To, ErrConflict)
		}
		i.Status, i.UpdatedAt = t.To, t.At
		i.ClosedAt, i.CloseReason = Issue{}.ClosedAt, ""
		if t.To == Closed {
			i.ClosedAt, i.CloseReason = t.At, t.Reason
		}
		return true, nil
	})
}

// Link implements [Writer].
func (w *workspace) Link(ctx context.Context, d Dependency) error {
	return w.change(ctx, d.Issue, func(i *Issue) (bool, error) {
		same := func(o Dependency) bool { return o.DependsOn == d.DependsOn && o.Type == d.Type }
		if slices.ContainsFunc(i.Dependencies, same) {
			return false, nil
		}
		i.Dependencies = append(i.Dependencies, d)
		slices.SortFunc(i.Dependencies, func(a, b Dependency) int {
			return slices.Compare([]string{a.DependsOn, a.Type}, []string{b.DependsOn, b.Type})
		})
		return true, nil
	})
}

// Note implements [Writer].
func (w *workspace) Note(ctx context.Context, c Comment) error {
	return w.change(ctx, c.Issue, func(i *Issue) (bool, error) {
		same := func(o Comment) bool { return o.Text == c.Text && o.CreatedAt.Equal(c.CreatedAt) }
		if slices.ContainsFunc(i.Comments, same) {
			return false, nil
		}
		c.ID = int64(len(i.Comments)) + 1
		i.Comments = append(i.Comments, c)
		return true, nil
	})
}

// Erase implements [Eraser].
func (w *workspace) Erase(ctx context.Context, id, text string) error {
	err := w.change(ctx, id, func(i *Issue) (bool, error) {
		i.Title, i.Description = text, ""
		if i.CloseReason != "" {
			i.CloseReason = text
		}
		for n := range i.Comments {
			i.Comments[n].Text = text
		}
		return true, nil
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Get implements [Reader].
func (w *workspace) Get(ctx context.Context, id string) (Issue, error) {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	return w.store.load(ctx, beadKey{w.tenant, id})
}

// Probe implements [Reader].
func (w *workspace) Probe(ctx context.Context) error {
	if strings.ContainsRune(w.tenant, 0) {
		return fmt.Errorf("tenant with a zero byte: %w", ErrInvalid)
	}
	if err := w.store.db.Tx(ctx, func(*sqlite.Conn) error { return nil }); err != nil {
		return fmt.Errorf("probe issues: %w: %w", ErrUnavailable, err)
	}
	return nil
}
