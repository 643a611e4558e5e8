package ledger

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Reader reads the records of a ledger. It is safe for concurrent use, but calls run one at a time.
type Reader struct{ source *source }

// OpenReader opens the ledger at path. The error wraps [fs.ErrNotExist] if the file is missing or
// still empty.
func OpenReader(path string) (*Reader, error) {
	s, err := openSource(path)
	if err != nil {
		return nil, err
	}
	return &Reader{source: s}, nil
}

// OpenTenant opens the ledger of tenant below dir. The error wraps [ErrDamaged] if the file belongs
// to another tenant.
func OpenTenant(dir, tenant string) (*Reader, error) {
	path, err := Path(dir, tenant)
	if err != nil {
		return nil, err
	}
	r, err := OpenReader(path)
	if err != nil {
		return nil, err
	}
	if r.Tenant() != tenant {
		err := fmt.Errorf("read ledger %s: %w: it belongs to tenant %q", path, ErrDamaged, r.Tenant())
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close closes the ledger file. The results of Tree, Orders and Activity use the same file, so
// they stop working too.
func (r *Reader) Close() error { return r.source.close() }

// Tenant returns the tenant of the ledger.
func (r *Reader) Tenant() string { return r.source.tenant }

// Path returns the path of the ledger file.
func (r *Reader) Path() string { return r.source.path }

// Tree returns a reader of the Merkle tree, proofs and cosignatures.
func (r *Reader) Tree() Tree { return Tree{r.source} }

// Orders returns a reader of orders, holds and retention.
func (r *Reader) Orders() Orders { return Orders{r.source} }

// Activity returns a reader of counts and times.
func (r *Reader) Activity() Activity { return Activity{r.source} }

// Newest returns the newest checkpoint without checking its signature.
func (r *Reader) Newest(ctx context.Context) (Checkpoint, error) {
	_, c, err := r.Signed(ctx)
	return c, err
}

// Signed returns the newest checkpoint, as a signed note and decoded. It does not check the
// signature.
func (r *Reader) Signed(ctx context.Context) (signed []byte, c Checkpoint, err error) {
	err = r.source.view(ctx, func(conn *sqlite.Conn) error {
		if signed, err = NewestNote(conn); err != nil {
			return err
		}
		c, err = ReadCheckpoint(signed)
		return err
	})
	return signed, c, err
}

// After yields the records after the given leaf number, or all records if leaf is -1. No
// transaction is open while the caller handles a record. After a [RecordError] about an altered
// record, the iteration can continue.
func (r *Reader) After(ctx context.Context, leaf int64) iter.Seq2[Entry, error] {
	return r.source.entries(ctx, leaf, "")
}

// CheckLeaves returns a [RecordError] about the first missing record. A caller that reads only some
// of the records would not notice that one is missing.
func (r *Reader) CheckLeaves(ctx context.Context) error {
	missing := int64(-1)
	err := r.source.view(ctx, func(conn *sqlite.Conn) error {
		signed, err := NewestNote(conn)
		if err != nil {
			return err
		}
		c, err := ReadCheckpoint(signed)
		if err != nil {
			return err
		}
		missing, err = firstMissing(conn, c.Size)
		return err
	})
	if err == nil && missing >= 0 {
		err = fmt.Errorf("read ledger %s: %w", r.Path(), MissingLeaf(missing))
	}
	return err
}

func firstMissing(conn *sqlite.Conn, size int64) (leaf int64, err error) {
	leaf = -1
	err = sqlitex.Execute(conn, `WITH n AS (SELECT count(*) n, coalesce(min(leaf), 0) low, coalesce(max(leaf) + 1, 0) next FROM leaves)
		SELECT coalesce((SELECT min(leaf) + 1 FROM (SELECT -1 leaf UNION ALL SELECT leaf FROM leaves WHERE leaf >= 0) l
			WHERE NOT EXISTS (SELECT 1 FROM leaves m WHERE m.leaf = l.leaf + 1)), 0)
		FROM n WHERE low <> 0 OR n <> next OR next < ?`, &sqlitex.ExecOptions{
		Args:       []any{size},
		ResultFunc: func(stmt *sqlite.Stmt) error { leaf = stmt.ColumnInt64(0); return nil },
	})
	return leaf, err
}

// Run yields the events of a run in ascending order of their leaves.
func (r *Reader) Run(ctx context.Context, run string) iter.Seq2[Entry, error] {
	return r.source.entries(ctx, -1, ` AND l.run = (SELECT run FROM runs WHERE name = ?3) AND l.class = 'event'`, run)
}

// Has reports whether the ledger has events of run.
func (r *Reader) Has(ctx context.Context, run string) (has bool, err error) {
	err = r.source.view(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, `SELECT 1 FROM leaves
			WHERE run = (SELECT run FROM runs WHERE name = ?) AND class = 'event' LIMIT 1`, &sqlitex.ExecOptions{
			Args:       []any{run},
			ResultFunc: func(*sqlite.Stmt) error { has = true; return nil },
		})
	})
	return has, err
}

// RunIDs returns the sorted ids of the runs that have events and whose ids begin with the given
// text.
func (r *Reader) RunIDs(ctx context.Context, start string) (ids []string, err error) {
	err = r.source.view(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, `SELECT name FROM runs r
			WHERE name >= ?1 AND name < ?1 || char(0x10FFFF) AND substr(name, 1, length(?1)) = ?1
			AND EXISTS (SELECT 1 FROM leaves WHERE run = r.run AND class = 'event') ORDER BY name`, &sqlitex.ExecOptions{
			Args:       []any{start},
			ResultFunc: func(stmt *sqlite.Stmt) error { ids = append(ids, stmt.ColumnText(0)); return nil },
		})
	})
	return ids, err
}

// RunInfo describes one run of a ledger.
type RunInfo struct {
	Run    string
	Leaves int64
	First  int64
	Last   int64
	Stored time.Time // time of the last record
}

// Runs returns the runs of the ledger. The run with the newest record comes first.
func (r *Reader) Runs(ctx context.Context) (runs []RunInfo, err error) {
	err = r.source.view(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, `SELECT r.name, s.n, s.first, s.last, l.stored FROM
			(SELECT run, count(*) n, min(leaf) first, max(leaf) last FROM leaves WHERE run > 0 GROUP BY run) s
			JOIN runs r ON r.run = s.run JOIN leaves l ON l.leaf = s.last ORDER BY s.last DESC`,
			&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
				runs = append(runs, RunInfo{
					Run: stmt.ColumnText(0), Leaves: stmt.ColumnInt64(1), First: stmt.ColumnInt64(2),
					Last: stmt.ColumnInt64(3), Stored: time.Unix(0, stmt.ColumnInt64(4)).UTC(),
				})
				return nil
			}})
	})
	return runs, err
}
