package agentfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// ErrBusy means that another process has an AgentFS file open.
var ErrBusy = errors.New("file is in use by another process")

const busyTimeout = 20 * time.Millisecond

// exclusive makes SQLite work without its shared memory file, which AgentFS clients do not
// support. A crash may lose the last commit, which Sync then writes again.
var exclusive = []string{"PRAGMA locking_mode = exclusive", "PRAGMA journal_mode = wal", "PRAGMA synchronous = normal"}

type file struct {
	conn   *sqlite.Conn
	pos    position // last applied leaf
	orders int64    // last applied erasure order, or -1
	freed  bool     // reset was called, so free pages may have erased content

	calls  *toolCalls
	values *keyValues
	files  *fileSystem
	events *projector
}

func openFile(ctx context.Context, path string) (_ *file, err error) {
	if err := createPrivate(path); err != nil {
		return nil, err
	}
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, busy(err)
	}
	defer func() {
		if err != nil {
			err = unreadable(busy(errors.Join(err, conn.Close())))
		}
	}()
	conn.SetInterrupt(ctx.Done())
	conn.SetBusyTimeout(busyTimeout)
	if err := executeAll(conn, append(slices.Clone(exclusive), "BEGIN IMMEDIATE")); err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	if err := prepare(conn); err != nil {
		return nil, err
	}
	f := &file{conn: conn, calls: &toolCalls{conn: conn}, values: &keyValues{conn}, files: &fileSystem{conn}}
	f.events = &projector{calls: f.calls, values: f.values, payloads: &payloads{f.files}}
	if f.pos, err = loadPosition(conn, "hooktrail_state"); err != nil {
		return nil, err
	}
	if f.orders, err = loadNumber(conn, "hooktrail_state", "orders"); err != nil {
		return nil, err
	}
	return f, nil
}

func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func (f *file) apply(item item) error {
	if item.pos.leaf <= f.pos.leaf {
		return nil
	}
	if err := f.events.project(item.pos.leaf, item.event); err != nil {
		return err
	}
	f.pos = item.pos
	return nil
}

func (f *file) reset() error {
	if err := f.files.removeAll(); err != nil {
		return err
	}
	if err := errors.Join(f.calls.removeAll(), f.values.removeAll(), execute(f.conn, `DELETE FROM hooktrail_state`)); err != nil {
		return fmt.Errorf("remove rows: %w", err)
	}
	f.pos, f.orders, f.freed = start, -1, true
	return nil
}

func (f *file) removeRun(run string) error {
	if err := f.calls.removeRun(run); err != nil {
		return err
	}
	if err := f.values.removeRun(run); err != nil {
		return err
	}
	return f.files.removeFolder(runPath(run))
}

func (f *file) commit() error {
	if err := savePosition(f.conn, "hooktrail_state", f.pos); err != nil {
		return err
	}
	if err := executeAll(f.conn, []string{"COMMIT"}); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

func (f *file) commitOrder(order int64) error {
	if err := executeAll(f.conn, []string{"BEGIN IMMEDIATE"}); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	f.orders = max(f.orders, order)
	if err := saveNumber(f.conn, "hooktrail_state", "orders", f.orders); err != nil {
		return err
	}
	return f.commit()
}

// Some containers cannot write to /tmp, so the temporary file is created next to the database.
func (f *file) compact() error {
	paths, err := texts(f.conn, "SELECT file FROM pragma_database_list WHERE name = 'main'")
	if err != nil || len(paths) != 1 {
		return errors.Join(err, errors.New("path of the database is unknown"))
	}
	folder := strings.ReplaceAll(filepath.Dir(paths[0]), "'", "''")
	if err := executeAll(f.conn, []string{"PRAGMA temp_store_directory='" + folder + "'", "VACUUM"}); err != nil {
		return err
	}
	left, err := number(f.conn, "PRAGMA wal_checkpoint(TRUNCATE)")
	if err == nil && left != 0 {
		err = errors.New("log cannot be emptied")
	}
	return err
}

func (f *file) close() error {
	f.conn.SetInterrupt(nil)
	if err := f.conn.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

func busy(err error) error {
	if code := sqlite.ErrCode(err).ToPrimary(); code == sqlite.ResultBusy || code == sqlite.ResultLocked {
		return ErrBusy
	}
	return err
}

func unreadable(err error) error {
	if code := sqlite.ErrCode(err).ToPrimary(); code == sqlite.ResultCorrupt || code == sqlite.ResultNotADB {
		return fmt.Errorf("%w; delete the file to rebuild it from the ledger", err)
	}
	return err
}

type item struct {
	pos   position
	event events.Event
}
