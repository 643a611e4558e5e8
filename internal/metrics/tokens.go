package metrics

import (
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// level is where in a run tokens are reported. The same tokens may be reported
// on several levels: the finest that a run has counts, the others do not.
type level int

const (
	ofAnswer level = iota
	ofStep
	ofRun
	ofNothing
)

// tokens notes what the thing id used, in place of what it had used before, and
// keeps the numbers up with it.
func (f *fold) tokens(e events.Event, at level, id, role string, used *events.Tokens) error {
	before, err := f.finest(e)
	if err != nil {
		return err
	}
	if at > before {
		return f.noteTokens(e, at, id, role, used)
	}
	// The levels can change places: all of the run's tokens if so, else only
	// those of this thing.
	ids := &id
	if at < before {
		ids = nil
	}
	if err := f.countTokens(e, before, ids, -1); err != nil {
		return err
	}
	if err := f.noteTokens(e, at, id, role, used); err != nil {
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

// finest returns the level that counts in the run of e.
func (f *fold) finest(e events.Event) (level, error) {
	finest := ofNothing
	err := sqlitex.Execute(f.conn, `SELECT level FROM tokens WHERE tenant = ? AND run = ? ORDER BY level LIMIT 1`,
		&sqlitex.ExecOptions{
			Args:       []any{e.Tenant, e.Run},
			ResultFunc: func(stmt *sqlite.Stmt) error { finest = level(stmt.ColumnInt(0)); return nil },
		})
	if err != nil {
		return ofNothing, fmt.Errorf("look up tokens: %w", err)
	}
	return finest, nil
}

// countTokens adds the tokens of one level of the run of e to the numbers, or
// takes them out with times -1: those of all things, or of the one named.
func (f *fold) countTokens(e events.Event, at level, id *string, times int64) error {
	query, args := `SELECT role, input, output, cache_creation, cache_read FROM tokens
		WHERE tenant = ? AND run = ? AND level = ?`, []any{e.Tenant, e.Run, int(at)}
	if id != nil {
		query, args = query+` AND id = ?`, append(args, *id)
	}
	err := sqlitex.Execute(f.conn, query+` ORDER BY id`, &sqlitex.ExecOptions{
		Args: args,
		ResultFunc: func(stmt *sqlite.Stmt) error {
			role := stmt.ColumnText(0)
			for i, kind := range []string{"input", "output", "cache_creation", "cache_read"} {
				f.numbers.add(tokensTotal, times*stmt.ColumnInt64(1+i), e.Tenant, role, kind)
			}
			return nil
		},
	})
	if err != nil {
		return fmt.Errorf("count tokens: %w", err)
	}
	return nil
}

func (f *fold) noteTokens(e events.Event, at level, id, role string, used *events.Tokens) error {
	query, args := `DELETE FROM tokens WHERE tenant = ? AND run = ? AND level = ? AND id = ?`, []any{e.Tenant, e.Run, int(at), id}
	if used != nil {
		query = `INSERT OR REPLACE INTO tokens (tenant, run, level, id, role, input, output, cache_creation, cache_read)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
		args = append(args, upper(role), believed(used.Input), believed(used.Output), believed(used.CacheCreation), believed(used.CacheRead))
	}
	if err := sqlitex.Execute(f.conn, query, &sqlitex.ExecOptions{Args: args}); err != nil {
		return fmt.Errorf("note tokens: %w", err)
	}
	return nil
}

func believed(tokens int64) int64 { return min(max(tokens, 0), maxTokens) }
