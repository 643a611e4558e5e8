package agentfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// rowsPerFile is the default limit of rows in a file, because AgentFS clients load all of them.
const rowsPerFile = 100_000

// tenant.mu guards all fields of routes.
type routes struct {
	conn   *sqlite.Conn
	tenant string
	limit  int64    // maximum rows of one file
	pos    position // last routed record
	saved  position // pos on disk

	orders, savedOrders int64 // last erasure order that was read, or -1

	runs   map[string]string     // file by run, unsaved
	states map[string]*fileState // loaded since the last commit
}

const routesVersion = 2

var routesSchema = []string{
	`CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value TEXT NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS runs (run TEXT PRIMARY KEY, file TEXT NOT NULL) WITHOUT ROWID`,
	`CREATE TABLE IF NOT EXISTS files (name TEXT PRIMARY KEY, last INTEGER NOT NULL, done INTEGER NOT NULL, halves INTEGER NOT NULL,
		ordered INTEGER NOT NULL, cleaned INTEGER NOT NULL, parts INTEGER NOT NULL, told INTEGER NOT NULL, anew INTEGER NOT NULL)`,
	`PRAGMA user_version = ` + strconv.Itoa(routesVersion),
}

var dropRoutes = []string{`DROP TABLE IF EXISTS state`, `DROP TABLE IF EXISTS runs`, `DROP TABLE IF EXISTS files`}

func openRoutes(ctx context.Context, dir, tenant string, limit int64) (*routes, error) {
	folder := filepath.Join(dir, ".routes")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("open routes: %w", err)
	}
	path := filepath.Join(folder, escapeID(tenant)+".db")
	r := &routes{tenant: tenant, limit: limit}
	err := r.open(ctx, path)
	if code := sqlite.ErrCode(err).ToPrimary(); code == sqlite.ResultCorrupt || code == sqlite.ResultNotADB {
		for _, suffix := range []string{"", "-wal", "-journal"} {
			if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, fmt.Errorf("remove damaged routes: %w", err)
			}
		}
		err = r.open(ctx, path)
	}
	if err != nil {
		return nil, fmt.Errorf("open routes: %w", busy(err))
	}
	return r, nil
}

func (r *routes) open(ctx context.Context, path string) (err error) {
	if err := createPrivate(path); err != nil {
		return err
	}
	r.conn, err = sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer func() {
		r.conn.SetInterrupt(nil)
		if err != nil {
			err = errors.Join(err, r.conn.Close())
		}
	}()
	r.conn.SetInterrupt(ctx.Done())
	r.conn.SetBusyTimeout(busyTimeout)
	statements := exclusive
	if version, err := number(r.conn, "PRAGMA user_version"); err != nil {
		return err
	} else if version != routesVersion {
		statements = slices.Concat(exclusive, dropRoutes)
	}
	if err := executeAll(r.conn, slices.Concat(statements, routesSchema)); err != nil {
		return err
	}
	if r.orders, err = loadNumber(r.conn, "state", "orders"); err != nil {
		return err
	}
	r.savedOrders = r.orders
	r.pos, err = loadPosition(r.conn, "state")
	r.saved = r.pos
	r.runs, r.states = map[string]string{}, map[string]*fileState{}
	return err
}

func (r *routes) route(e events.Event) (*fileState, error) {
	name, ok, err := r.find(e.Run)
	if err != nil {
		return nil, err
	}
	if ok {
		return r.file(name)
	}
	state, err := r.choose(e)
	if err != nil {
		return nil, err
	}
	r.runs[e.Run] = state.name
	return state, nil
}

func (r *routes) choose(e events.Event) (*fileState, error) {
	if e.AgentFS == "" && e.ParentRun != "" && e.ParentRun != e.Run {
		name, ok, err := r.find(e.ParentRun)
		if err != nil {
			return nil, err
		}
		if ok {
			return r.file(name)
		}
	}
	return r.current(cmp.Or(e.AgentFS, e.ParentAgent, e.Agent, e.Source))
}

func (r *routes) find(run string) (name string, ok bool, err error) {
	if name, ok := r.runs[run]; ok {
		return name, true, nil
	}
	err = sqlitex.Execute(r.conn, `SELECT file FROM runs WHERE run = ?`, &sqlitex.ExecOptions{
		Args:       []any{run},
		ResultFunc: func(stmt *sqlite.Stmt) error { name, ok = stmt.ColumnText(0), true; return nil },
	})
	if err != nil {
		return "", false, fmt.Errorf("find route: %w", err)
	}
	return name, ok, nil
}

func (r *routes) commit() error {
	if r.isChanged() {
		if err := r.transact(r.save); err != nil {
			return fmt.Errorf("save routes: %w", err)
		}
	}
	r.saved, r.savedOrders = r.pos, r.orders
	clear(r.runs)
	clear(r.states)
	return nil
}

func (r *routes) isChanged() bool {
	for _, state := range r.states {
		if state.progress != state.saved {
			return true
		}
	}
	return r.pos != r.saved || r.orders != r.savedOrders
}

func (r *routes) save() error {
	for run, name := range r.runs {
		if err := sqlitex.Execute(r.conn, `INSERT OR REPLACE INTO runs (run, file) VALUES (?, ?)`,
			&sqlitex.ExecOptions{Args: []any{run, name}}); err != nil {
			return err
		}
	}
	for _, state := range r.states {
		if state.progress == state.saved {
			continue
		}
		if err := sqlitex.Execute(r.conn, `INSERT OR REPLACE INTO files
			(name, last, done, halves, ordered, cleaned, parts, told, anew) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			&sqlitex.ExecOptions{Args: []any{state.name, state.last, state.done, state.halves, state.order, state.cleaned, state.parts, state.listed, state.rebuild}}); err != nil {
			return err
		}
	}
	if err := saveNumber(r.conn, "state", "orders", r.orders); err != nil {
		return err
	}
	return savePosition(r.conn, "state", r.pos)
}

func (r *routes) reset() error {
	clear(r.runs)
	clear(r.states)
	r.pos, r.saved, r.orders, r.savedOrders = start, start, -1, -1
	err := r.transact(func() error {
		return executeAll(r.conn, []string{`DELETE FROM runs`, `DELETE FROM files`, `DELETE FROM state`})
	})
	if err != nil {
		return fmt.Errorf("reset routes: %w", err)
	}
	return nil
}

func (r *routes) transact(change func() error) error {
	err := executeAll(r.conn, []string{"BEGIN IMMEDIATE"})
	if err == nil {
		if err = change(); err == nil {
			err = executeAll(r.conn, []string{"COMMIT"})
		}
	}
	if err != nil && !r.conn.AutocommitEnabled() {
		err = errors.Join(err, executeAll(r.conn, []string{"ROLLBACK"}))
	}
	return err
}

func (r *routes) close() error { return r.conn.Close() }
