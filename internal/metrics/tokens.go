package metrics

import (
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// A run reports the tokens of its steps again, so only the lowest level of a run counts.
type level int

const (
	responseLevel level = iota
	stepLevel
	runLevel
	noLevel
)

const roleLabel = 1 // index of the role in the labels of tokensTotal

func (f *fold) tokens(e events.Event, at level, id, role string, used *events.Tokens) error {
	before, err := f.finest(e)
	if err != nil {
		return err
	}
	if at > before {
		return f.storeTokens(e, at, id, role, used)
	}
	// The first report at a lower level, such as a step instead of the run, replaces all tokens of
	// the run. A later report at that level replaces only the tokens of its own activity.
	ids := &id
	if at < before {
		ids = nil
	}
	if err := f.countTokens(e, before, ids, -1); err != nil {
		return err
	}
	if err := f.storeTokens(e, at, id, role, used); err != nil {
		return err
	}
	after, err := f.finest(e)
	if err != nil {
		return err
	}
	if after != before {
		ids = nil
	}
	return f.countTokens(e, after, ids, 1)
}

func (f *fold) finest(e events.Event) (level, error) {
	finest := noLevel
	err := sqlitex.Execute(f.conn, `SELECT level FROM tokens WHERE tenant = ? AND run = ? ORDER BY level LIMIT 1`,
		&sqlitex.ExecOptions{
			Args:       []any{e.Tenant, e.Run},
			ResultFunc: func(stmt *sqlite.Stmt) error { finest = level(stmt.ColumnInt(0)); return nil },
		})
	if err != nil {
		return noLevel, fmt.Errorf("look up tokens: %w", err)
	}
	return finest, nil
}

// times is 1 or -1. If id is nil, the counts are those of the whole run.
func (f *fold) countTokens(e events.Event, at level, id *string, times int64) error {
	query, args := `SELECT role, input, output, cache_creation, cache_read FROM sums
		WHERE tenant = ? AND run = ? AND level = ? ORDER BY role`, []any{e.Tenant, e.Run, int(at)}
	if id != nil {
		query, args = `SELECT role, input, output, cache_creation, cache_read FROM tokens
			WHERE tenant = ? AND run = ? AND level = ? AND id = ?`, append(args, *id)
	}
	err := sqlitex.Execute(f.conn, query, &sqlitex.ExecOptions{
		Args: args,
		ResultFunc: func(stmt *sqlite.Stmt) error {
			role := stmt.ColumnText(0)
			for i, kind := range []string{"input", "output", "cache_creation", "cache_read"} {
				f.series.add(tokensTotal, times*stmt.ColumnInt64(1+i), e.Tenant, role, kind)
			}
			return nil
		},
	})
	if err != nil {
		return fmt.Errorf("count tokens: %w", err)
	}
	return nil
}

func (f *fold) storeTokens(e events.Event, at level, id, role string, used *events.Tokens) error {
	key := []any{e.Tenant, e.Run, int(at), id}
	err := sqlitex.Execute(f.conn, `DELETE FROM tokens WHERE tenant = ? AND run = ? AND level = ? AND id = ?`, &sqlitex.ExecOptions{Args: key})
	if err == nil && used != nil {
		role = f.series.bound(label{tokensTotal, roleLabel}, upper(role))
		err = sqlitex.Execute(f.conn, `INSERT INTO tokens (tenant, run, level, id, role, input, output, cache_creation, cache_read)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, &sqlitex.ExecOptions{Args: append(key,
			role, used.Input, used.Output, used.CacheCreation, used.CacheRead)})
	}
	if err != nil {
		return fmt.Errorf("store tokens: %w", err)
	}
	return nil
}
