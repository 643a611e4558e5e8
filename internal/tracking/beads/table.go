package beads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/internal/stream/projection"
)

// Schema is the SQL text that creates the tables of the backends. Do not change it, not even a
// comment. When the tracker rebuilds its database, it keeps only tables whose SQL text is
// unchanged.
const Schema = `
CREATE TABLE bead (
	tenant  TEXT NOT NULL,
	id      TEXT NOT NULL,
	record  TEXT NOT NULL, -- the issue as it is to be
	written TEXT NOT NULL, -- as others find it in the workspace; empty: not known to be there
	writing TEXT NOT NULL, -- as it is on its way there; empty: nothing is
	marks   INTEGER NOT NULL,
	PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE bead_edit (
	seq    INTEGER PRIMARY KEY,
	tenant TEXT NOT NULL,
	id     TEXT NOT NULL, -- of the edit
	issue  TEXT NOT NULL,
	record TEXT NOT NULL, -- the edit, JSON
	UNIQUE (tenant, id)
) STRICT;
`

type marks int64

const (
	markDescribed marks = 1 << iota // a person has changed the description
	markErased                      // the workspace contains texts that must be erased
	markGone                        // a person deleted the issue
	markDirty                       // the workspace is incomplete
)

// A table keeps changes in memory until flush is called.
type table struct {
	db *projection.DB

	// mu guards pending and stale, the tables of Schema, and the embedded backend's files. Lock
	// order: bdSpace.turn, the file lock, mu.
	mu      sync.Mutex
	pending map[beadKey]row
	stale   map[string]bool // tenants whose workspace lacks changes
}

type beadKey struct{ tenant, id string }

type row struct {
	issue            Issue
	written, writing string
	marks            marks
}

func newTable(db *projection.DB) *table {
	return &table{db: db, pending: make(map[beadKey]row), stale: make(map[string]bool)}
}

func (t *table) lockedFlush(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.flush(ctx)
}

// The caller must hold t.mu.
func (t *table) flush(ctx context.Context) error {
	if len(t.pending) == 0 {
		return nil
	}
	err := t.db.Tx(ctx, func(conn *sqlite.Conn) error {
		for key, r := range t.pending {
			if err := saveRow(conn, key, r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("flush issues: %w: %w", ErrTransient, err)
	}
	for key := range t.pending {
		t.stale[key.tenant] = true
	}
	clear(t.pending)
	return nil
}

func saveRow(conn *sqlite.Conn, key beadKey, r row) error {
	record, err := json.Marshal(r.issue)
	if err != nil {
		return err
	}
	err = sqlitex.Execute(conn, "INSERT OR REPLACE INTO bead (tenant, id, record, written, writing, marks) VALUES (?, ?, ?, ?, ?, ?)",
		&sqlitex.ExecOptions{Args: []any{key.tenant, key.id, string(record), r.written, r.writing, int64(r.marks)}})
	if err != nil {
		return fmt.Errorf("store issue %s: %w", key.id, err)
	}
	return nil
}

const rowColumns = "id, record, written, writing, marks"

func readRow(stmt *sqlite.Stmt) (r row, err error) {
	r = row{written: stmt.ColumnText(2), writing: stmt.ColumnText(3), marks: marks(stmt.ColumnInt64(4))}
	r.issue, err = ParseLine([]byte(stmt.ColumnText(1)))
	return r, err
}

// The caller must hold t.mu.
func (t *table) load(ctx context.Context, key beadKey) (row, error) {
	if r, ok := t.pending[key]; ok {
		return r, nil
	}
	var r row
	found := false
	err := t.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, "SELECT "+rowColumns+" FROM bead WHERE tenant = ? AND id = ?", &sqlitex.ExecOptions{
			Args: []any{key.tenant, key.id},
			ResultFunc: func(stmt *sqlite.Stmt) (err error) {
				found = true
				r, err = readRow(stmt)
				return err
			},
		})
	})
	switch {
	case errors.Is(err, ErrInvalid):
		return row{}, err
	case err != nil:
		return row{}, fmt.Errorf("load issue %s: %w: %w", key.id, ErrTransient, err)
	case !found:
		return row{}, fmt.Errorf("issue %s: %w", key.id, ErrNotFound)
	}
	return r, nil
}

// rows returns the rows of a tenant that match an SQL condition. The caller must hold t.mu.
func (t *table) rows(ctx context.Context, tenant, where string, args ...any) (list []row, err error) {
	query := "SELECT " + rowColumns + " FROM bead WHERE tenant = ?"
	if where != "" {
		query += " AND " + where
	}
	err = t.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, query+" ORDER BY id", &sqlitex.ExecOptions{
			Args: append([]any{tenant}, args...),
			ResultFunc: func(stmt *sqlite.Stmt) error {
				r, err := readRow(stmt)
				list = append(list, r)
				return err
			},
		})
	})
	return list, err
}

func (t *table) unlink(ctx context.Context, tenant, id string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.flush(ctx); err != nil {
		return err
	}
	rows, err := t.rows(ctx, tenant, "id <> ? AND instr(written, ?) > 0", id, id)
	if err != nil {
		return err
	}
	return t.db.Tx(ctx, func(conn *sqlite.Conn) error {
		for _, r := range rows {
			base, err := ParseLine([]byte(r.written))
			if err != nil {
				return err
			}
			base.Dependencies = slices.DeleteFunc(base.Dependencies, func(d Dependency) bool { return d.DependsOn == id })
			r.written, r.writing = row{issue: base}.record(), ""
			r.marks |= markDirty
			if err := saveRow(conn, beadKey{tenant, r.issue.ID}, r); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *table) recover(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, "SELECT DISTINCT tenant FROM bead", &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error {
				t.stale[stmt.ColumnText(0)] = true
				return nil
			},
		})
	})
	if err != nil {
		return fmt.Errorf("list workspaces: %w", err)
	}
	return nil
}

func (t *table) backlog(ctx context.Context) (int, error) {
	var n int64
	err := t.db.Tx(ctx, func(conn *sqlite.Conn) (err error) {
		n, err = sqlitetx.Int(conn, "SELECT count(*) FROM bead WHERE marks & ?", int64(markDirty))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("count issues: %w: %w", ErrTransient, err)
	}
	return int(n), nil
}

func (t *table) exec(ctx context.Context, query string, args ...any) error {
	return t.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: args})
	})
}

func (t *table) staleTenants() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.stale))
}

func (t *table) setStale(tenant string, stale bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if stale {
		t.stale[tenant] = true
	} else {
		delete(t.stale, tenant)
	}
}
