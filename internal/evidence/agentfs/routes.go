package agentfs

import (
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

// rowsPerFile is how many rows one file gets before new runs go to the next: the
// clients list a file whole.
const rowsPerFile = 100_000

// routes says which file each run of a tenant lies in, and how far each file
// has to come. It is kept in .routes/<tenant>.db, and can be computed again.
//
// It belongs to the one goroutine that holds its tenant.
type routes struct {
	conn   *sqlite.Conn
	tenant string
	limit  int64    // rows of one file
	pos    position // routed so far
	saved  position // of it, what is on disk

	orders, savedOrders int64 // the last order whose runs were looked up, and that on disk; -1 is none

	runs  map[string]string  // routes that are not on disk yet
	known map[string]*volume // files that were looked at since the last commit
}

// routesVersion is that of routesSchema. Routes of another one are computed again.
const routesVersion = 2

var routesSchema = []string{
	`CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value TEXT NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS runs (run TEXT PRIMARY KEY, file TEXT NOT NULL) WITHOUT ROWID`,
	`CREATE TABLE IF NOT EXISTS files (name TEXT PRIMARY KEY, last INTEGER NOT NULL, done INTEGER NOT NULL, halves INTEGER NOT NULL,
		ordered INTEGER NOT NULL, cleaned INTEGER NOT NULL, parts INTEGER NOT NULL, told INTEGER NOT NULL, anew INTEGER NOT NULL)`,
	`PRAGMA user_version = ` + strconv.Itoa(routesVersion),
}

var dropRoutes = []string{`DROP TABLE IF EXISTS state`, `DROP TABLE IF EXISTS runs`, `DROP TABLE IF EXISTS files`}

// openRoutes opens a tenant's routes, and makes them anew where they cannot be
// read.
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
				return nil, fmt.Errorf("remove broken routes: %w", err)
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
	if err := own(path); err != nil {
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
	if err := execute(r.conn, slices.Concat(statements, routesSchema)); err != nil {
		return err
	}
	if r.orders, err = loadNumber(r.conn, "state", "orders"); err != nil {
		return err
	}
	r.savedOrders = r.orders
	r.pos, err = loadPosition(r.conn, "state")
	r.saved = r.pos
	r.runs, r.known = map[string]string{}, map[string]*volume{}
	return err
}

// route returns the file of e's run, which it decides if e is the first of it.
func (r *routes) route(e events.Event) (*volume, error) {
	name, ok, err := r.find(e.Run)
	if err != nil {
		return nil, err
	}
	if ok {
		return r.volume(name)
	}
	v, err := r.decide(e)
	if err != nil {
		return nil, err
	}
	r.runs[e.Run] = v.name
	return v, nil
}

// decide chooses the file of a run by the run's first event.
func (r *routes) decide(e events.Event) (*volume, error) {
	if e.AgentFS == "" && e.ParentRun != "" && e.ParentRun != e.Run {
		name, ok, err := r.find(e.ParentRun)
		if err != nil {
			return nil, err
		}
		if ok {
			return r.volume(name)
		}
	}
	return r.current(firstOf(e.AgentFS, e.ParentAgent, e.Agent, e.Source))
}

// find returns the file of a run that is routed.
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

// commit keeps what was decided, with the position that it stands for.
func (r *routes) commit() error {
	if r.isChanged() {
		if err := r.within(r.keep); err != nil {
			return fmt.Errorf("keep routes: %w", err)
		}
	}
	r.saved, r.savedOrders = r.pos, r.orders
	clear(r.runs)
	clear(r.known)
	return nil
}

// isChanged reports whether there is anything to keep: an idle ledger costs no
// writes.
func (r *routes) isChanged() bool {
	for _, v := range r.known {
		if v.extent != v.saved {
			return true
		}
	}
	return r.pos != r.saved || r.orders != r.savedOrders
}

func (r *routes) keep() error {
	for run, name := range r.runs {
		if err := sqlitex.Execute(r.conn, `INSERT OR REPLACE INTO runs (run, file) VALUES (?, ?)`,
			&sqlitex.ExecOptions{Args: []any{run, name}}); err != nil {
			return err
		}
	}
	for _, v := range r.known {
		if v.extent == v.saved {
			continue
		}
		if err := sqlitex.Execute(r.conn, `INSERT OR REPLACE INTO files
			(name, last, done, halves, ordered, cleaned, parts, told, anew) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			&sqlitex.ExecOptions{Args: []any{v.name, v.last, v.done, v.halves, v.order, v.cleaned, v.parts, v.told, v.anew}}); err != nil {
			return err
		}
	}
	if err := saveNumber(r.conn, "state", "orders", r.orders); err != nil {
		return err
	}
	return savePosition(r.conn, "state", r.pos)
}

// forget makes the routes those of an empty ledger.
func (r *routes) forget() error {
	clear(r.runs)
	clear(r.known)
	r.pos, r.saved, r.orders, r.savedOrders = start, start, -1, -1
	err := r.within(func() error {
		return execute(r.conn, []string{`DELETE FROM runs`, `DELETE FROM files`, `DELETE FROM state`})
	})
	if err != nil {
		return fmt.Errorf("forget routes: %w", err)
	}
	return nil
}

// within runs change in a transaction.
func (r *routes) within(change func() error) error {
	err := execute(r.conn, []string{"BEGIN IMMEDIATE"})
	if err == nil {
		if err = change(); err == nil {
			err = execute(r.conn, []string{"COMMIT"})
		}
	}
	if err != nil && !r.conn.AutocommitEnabled() {
		err = errors.Join(err, execute(r.conn, []string{"ROLLBACK"}))
	}
	return err
}

func (r *routes) close() error { return r.conn.Close() }
