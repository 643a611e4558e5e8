package tracker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/tracking/beads"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
)

func closeLog(ctx context.Context, path string) (readable bool) {
	if _, err := os.Stat(path); err != nil {
		return false
	}
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenWAL)
	if err != nil {
		return false
	}
	err = sqlitex.ExecuteTransient(conn, "PRAGMA wal_checkpoint(TRUNCATE)", nil)
	if err = errors.Join(err, conn.Close()); err != nil {
		return false
	}
	return projection.Read(ctx, path, schema, func(*sqlite.Conn) error { return nil }) == nil
}

func (r *rebuilding) carry(ctx context.Context, db *projection.DB) error {
	// If a decision on an event was published earlier, do not publish the rebuilt decision, even if
	// the two differ.
	const published = "UPDATE decision SET published = 1 WHERE record IS NOT NULL AND published = 0"
	if !r.hasOld {
		return db.Tx(ctx, func(conn *sqlite.Conn) error { return store.Run(conn, published) })
	}
	return db.WithAttached(ctx, r.old, "old", func(conn *sqlite.Conn) error {
		tables, err := texts(conn, `SELECT n.name FROM main.sqlite_schema AS n JOIN old.sqlite_schema AS o ON o.name = n.name AND o.sql = n.sql
			WHERE n.type = 'table' AND n.name GLOB 'bead*' ORDER BY n.name`)
		for _, table := range tables {
			if err == nil {
				err = store.Run(conn, "INSERT INTO main."+table+" SELECT * FROM old."+table)
			}
		}
		if err == nil {
			err = store.Run(conn, `UPDATE effect SET settled = 1, outcome = o.outcome FROM (
				SELECT issue, record, min(outcome) AS outcome FROM old.effect WHERE settled = 1 GROUP BY issue, record) AS o
				WHERE effect.issue = o.issue AND effect.record = o.record`)
		}
		if err == nil {
			err = store.Run(conn, published+` AND EXISTS (SELECT 1 FROM old.decision AS o WHERE o.tenant = decision.tenant
				AND o.event = decision.event AND o.source = decision.source AND o.published = 1)`)
		}
		if err != nil {
			return fmt.Errorf("copy from the old file: %w", err)
		}
		return nil
	})
}

func (r *rebuilding) compare(ctx context.Context, db *projection.DB) error {
	r.done.Gained, r.done.Lost = []string{}, []string{}
	count := func(conn *sqlite.Conn) error {
		n, err := sqlitetx.Int(conn, "SELECT count(*) FROM main.record WHERE kind = 'issue'")
		r.done.Issues = int(n)
		return err
	}
	if !r.hasOld {
		r.done.Gone = -1
		return db.Tx(ctx, count)
	}
	err := db.WithAttached(ctx, r.old, "old", func(conn *sqlite.Conn) (err error) {
		if err := count(conn); err != nil {
			return err
		}
		const ids = "SELECT id FROM %s.record WHERE kind = 'issue' EXCEPT SELECT id FROM %s.record WHERE kind = 'issue' ORDER BY id"
		if r.done.Gained, err = texts(conn, fmt.Sprintf(ids, "main", "old")); err != nil {
			return err
		}
		if r.done.Lost, err = texts(conn, fmt.Sprintf(ids, "old", "main")); err != nil {
			return err
		}
		r.changed, err = changedIssues(conn)
		if err != nil {
			return err
		}
		r.done.Gone, err = sqlitetx.Int(conn, `SELECT count(*) FROM old.decision AS o WHERE o.stored <> 0 AND NOT EXISTS (
			SELECT 1 FROM main.decision AS n WHERE n.tenant = o.tenant AND n.event = o.event AND n.source = o.source)`)
		return err
	})
	if err == nil && r.done.Gone > 0 && !r.Partial {
		err = fmt.Errorf("%w: it lacks %d events with decisions, and %d issues would be lost; use --partial to rebuild from the events that are left",
			ErrBeginning, r.done.Gone, len(r.done.Lost))
	}
	return err
}

func texts(conn *sqlite.Conn, query string) (list []string, err error) {
	list = []string{}
	err = store.Each(conn, func(stmt *sqlite.Stmt) error {
		list = append(list, stmt.ColumnText(0))
		return nil
	}, query)
	return list, err
}

type changedIssue struct {
	tenant, id string
	now        rules.Issue // zero if it no longer exists
}

func changedIssues(conn *sqlite.Conn) (list []changedIssue, err error) {
	err = store.Each(conn, func(stmt *sqlite.Stmt) error {
		m := changedIssue{tenant: stmt.ColumnText(0), id: stmt.ColumnText(1)}
		if text := stmt.ColumnText(2); text != "" {
			if err := json.Unmarshal([]byte(text), &m.now); err != nil {
				return fmt.Errorf("decode issue %s: %w", m.id, err)
			}
		}
		list = append(list, m)
		return nil
	}, `SELECT o.tenant, o.id, n.record FROM old.record AS o LEFT JOIN main.record AS n
		ON n.tenant = o.tenant AND n.kind = o.kind AND n.id = o.id WHERE o.kind = 'issue' AND (
			EXISTS (SELECT record FROM old.effect WHERE issue = o.id EXCEPT SELECT record FROM main.effect WHERE issue = o.id) OR
			EXISTS (SELECT record FROM main.effect WHERE issue = o.id EXCEPT SELECT record FROM old.effect WHERE issue = o.id))
		ORDER BY o.tenant, o.id`)
	return list, err
}

const noIssue = "No issue any more: the tracker was rebuilt under other rules"

// correct sets the status of issues directly, because the backend would ignore the rebuilt changes,
// whose times are too old.
func (r *rebuilding) correct(ctx context.Context) error {
	for _, m := range r.changed {
		w := r.backend.Workspace(m.tenant)
		have, err := w.Get(ctx, m.id)
		if errors.Is(err, beads.ErrNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read issue %s: %w", m.id, err)
		}
		to, reason := beads.Closed, noIssue
		if m.now.ID != "" {
			to, reason = beadStatus(m.now.Status), m.now.Reason
		}
		if have.Status == to {
			continue
		}
		at := have.UpdatedAt
		if m.now.Updated.After(at) {
			at = m.now.Updated
		}
		if err := w.Transition(ctx, beads.Transition{Issue: m.id, To: to, At: at, Reason: reason, Reopen: true}); err != nil {
			return fmt.Errorf("correct issue %s: %w", m.id, err)
		}
	}
	return r.backend.Flush(ctx)
}

// The new database must be closed before swap is called, and the write-ahead log of the old one
// must be empty.
func swap(newPath, oldPath string) error {
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(oldPath + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Rename(newPath, oldPath); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(oldPath))
}
