package agentfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// ErrBusy is wrapped by [Writer.Sync] when another process has a file open.
var ErrBusy = errors.New("file is in use by another process")

// busyTimeout is how long a file that another process is just leaving is
// waited for.
const busyTimeout = 20 * time.Millisecond

// exclusive makes a connection the only one to its file. That keeps the clients'
// engine, which knows no shared memory file, out while we write; closing leaves
// one file without a log beside it. A crash can undo the last commit, its
// position included.
var exclusive = []string{"PRAGMA locking_mode = exclusive", "PRAGMA journal_mode = wal", "PRAGMA synchronous = normal"}

// file is an AgentFS file that is open for one commit.
type file struct {
	conn   *sqlite.Conn
	pos    position // what the file has
	orders int64    // the last order that it has obeyed; -1 is none
	leaf   int64    // the one that is being applied

	emptied bool // what was in it is on its free pages
	foreign bool // nothing in it is ours
}

// openFile opens the AgentFS file at path and begins its transaction; a file
// that is not there is made. Close ends both.
func openFile(ctx context.Context, path string) (_ *file, err error) {
	if err := own(path); err != nil {
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
	if err := execute(conn, append(slices.Clone(exclusive), "BEGIN IMMEDIATE")); err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	if err := prepare(conn); err != nil {
		return nil, err
	}
	pos, err := loadPosition(conn, "hooktrail_state")
	if err != nil {
		return nil, err
	}
	orders, err := loadNumber(conn, "hooktrail_state", "orders")
	if err != nil {
		return nil, err
	}
	return &file{conn: conn, pos: pos, orders: orders}, nil
}

// own makes the file at path, for its owner alone, if there is none.
func own(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// reset removes what this package wrote.
func (f *file) reset() error {
	if err := f.removeFiles(); err != nil {
		return err
	}
	if err := execute(f.conn, removeRows); err != nil {
		return fmt.Errorf("remove rows: %w", err)
	}
	f.pos, f.orders, f.emptied = start, -1, true
	return nil
}

// apply projects one event. Events that the file already has are passed over.
func (f *file) apply(item item) error {
	if item.pos.leaf <= f.pos.leaf {
		return nil
	}
	f.leaf = item.pos.leaf
	if err := f.project(item.event); err != nil {
		return fmt.Errorf("leaf %d: %w", f.leaf, err)
	}
	f.pos = item.pos
	return nil
}

// commit makes what was applied durable, with the position that it stands for.
func (f *file) commit() error {
	if err := savePosition(f.conn, "hooktrail_state", f.pos); err != nil {
		return err
	}
	if err := sqlitex.ExecuteTransient(f.conn, "COMMIT", nil); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// close gives the file back to the other processes. What was not committed is
// gone.
func (f *file) close() error {
	f.conn.SetInterrupt(nil)
	if err := f.conn.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

// busy returns [ErrBusy] for an error that says that somebody else has the file:
// at which statement it showed helps nobody.
func busy(err error) error {
	if code := sqlite.ErrCode(err).ToPrimary(); code == sqlite.ResultBusy || code == sqlite.ResultLocked {
		return ErrBusy
	}
	return err
}

// unreadable adds what to do about a file that SQLite cannot make out.
func unreadable(err error) error {
	if code := sqlite.ErrCode(err).ToPrimary(); code == sqlite.ResultCorrupt || code == sqlite.ResultNotADB {
		return fmt.Errorf("%w; delete the file to have it written anew from the ledger", err)
	}
	return err
}

// item is an event on its way into a file.
type item struct {
	pos   position
	event events.Event
}
