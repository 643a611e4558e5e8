package beads

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/stream/projection"
)

// Schema makes the tables of a [Store]. It goes into the schema of the database
// that the store is opened on. A record is a line of issues.jsonl.
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

// marks is what is known of an issue beside its record.
type marks int64

const (
	markDescribed marks = 1 << iota // a person wrote the description
	markErased                      // what the workspace has of it is to go
	markGone                        // a person deleted it
	markDirty                       // the workspace does not have all of it
)

// Store is the embedded backend: the workspaces of all tenants. Changes are
// kept in memory until [Store.Flush] puts them on disk together; [Store.Export]
// writes them into the workspaces' files. Its methods may be called
// concurrently.
type Store struct {
	db     *projection.DB
	dir    string
	place  place
	logger *slog.Logger

	mu      sync.Mutex // guards what follows; held while the database or a file is written
	pending map[beadKey]row
	stale   map[string]bool // tenants whose workspace is behind
	files   map[string]*file
}

// place is where a workspace is for people.
type place interface {
	// look takes in what people changed there.
	look(ctx context.Context, tenant string) error
	// probe returns nil if the place can be written to.
	probe(ctx context.Context, tenant string) error
}

type beadKey struct{ tenant, id string }

// row is a row of the table bead.
type row struct {
	issue            Issue
	written, writing string
	marks            marks
}

// NewStore returns the store whose tables are in db, with the folders of its
// workspaces in dir. Close db after its last use.
func NewStore(db *projection.DB, dir string) *Store {
	s := &Store{
		db: db, dir: dir, logger: slog.New(slog.DiscardHandler),
		pending: make(map[beadKey]row), stale: make(map[string]bool), files: make(map[string]*file),
	}
	s.place = files{s}
	return s
}

// LogTo has the store tell logger what a person should know: which file was put
// aside, which issue is refused. Call it before the first use.
func (s *Store) LogTo(logger *slog.Logger) { s.logger = logger }

// Workspace returns the workspace of tenant.
func (s *Store) Workspace(tenant string) Backend { return &workspace{store: s, tenant: tenant} }

// Flush puts on disk, in one transaction, what was changed since the last one.
func (s *Store) Flush(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flush(ctx)
}

// flush is Flush for who holds mu.
func (s *Store) flush(ctx context.Context) error {
	if len(s.pending) == 0 {
		return nil
	}
	err := s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		for key, r := range s.pending {
			if err := saveRow(conn, key, r); err != nil {
				return err
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

// saveRow stores r.
func saveRow(conn *sqlite.Conn, key beadKey, r row) error {
	line, err := r.issue.AppendLine(nil)
	if err != nil {
		return err
	}
	err = sqlitex.Execute(conn, "INSERT OR REPLACE INTO bead (tenant, id, record, written, writing, marks) VALUES (?, ?, ?, ?, ?, ?)",
		&sqlitex.ExecOptions{Args: []any{key.tenant, key.id, string(line[:len(line)-1]), r.written, r.writing, int64(r.marks)}})
	if err != nil {
		return fmt.Errorf("store issue %s: %w", key.id, err)
	}
	return nil
}

const rowColumns = "id, record, written, writing, marks"

// readRow returns the row that stmt is at, by rowColumns.
func readRow(stmt *sqlite.Stmt) (r row, err error) {
	r = row{written: stmt.ColumnText(2), writing: stmt.ColumnText(3), marks: marks(stmt.ColumnInt64(4))}
	r.issue, err = ParseLine([]byte(stmt.ColumnText(1)))
	return r, err
}

// load returns the issue as it was changed last. The caller holds mu.
func (s *Store) load(ctx context.Context, key beadKey) (row, error) {
	if r, ok := s.pending[key]; ok {
		return r, nil
	}
	var r row
	found := false
	err := s.db.Tx(ctx, func(conn *sqlite.Conn) error {
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

// Recover has the next Export look at all workspaces: the last process may have
// ended between Flush and Export.
func (s *Store) Recover(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, "SELECT DISTINCT tenant FROM bead", &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error {
				s.stale[stmt.ColumnText(0)] = true
				return nil
			},
		})
	})
	if err != nil {
		return fmt.Errorf("list workspaces: %w", err)
	}
	return nil
}
