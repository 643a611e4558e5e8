package writer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// soilName is the name of the file that lies beside a ledger from before
// something is destroyed in it until nothing of that is left in the file.
const soilName = "ledger.scrub"

// ErrScrubLater is wrapped when a reader of the ledger stands in the way of
// [Ledger.Scrub].
var ErrScrubLater = errors.New("somebody reads the ledger: what was erased still lies in its log")

// Unclean reports whether what was erased may still lie somewhere in the files of
// the ledger of tenant below dir: until the auditor has scrubbed it.
func Unclean(dir, tenant string) (bool, error) {
	path, err := ledger.Path(dir, tenant)
	if err != nil {
		return false, err
	}
	return hasSoil(path)
}

func hasSoil(path string) (bool, error) {
	_, err := os.Stat(filepath.Join(filepath.Dir(path), soilName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (l *Ledger) findSoil() (err error) {
	l.unclean, err = hasSoil(l.path)
	return err
}

// soil notes, on disk, that something is about to be destroyed: a crash behind the
// commit must not leave its remains.
func (l *Ledger) soil() error {
	l.rebuilt = false
	if l.unclean {
		return nil
	}
	folder := filepath.Dir(l.path)
	if err := os.WriteFile(filepath.Join(folder, soilName), nil, 0o600); err != nil {
		return fmt.Errorf("note that the file is to be scrubbed: %w", err)
	}
	l.unclean = true
	return atomicfile.SyncDir(folder)
}

// Unclean reports whether [Ledger.Scrub] has something to do.
func (l *Ledger) Unclean() bool { return l.unclean }

// Scrub sees to it that no byte of what was erased is left in the ledger's files,
// nor in its log. It does nothing when nothing was erased since the last time;
// otherwise it writes the whole file anew, and needs as much room on the disk
// meanwhile: SQLite's secure_delete overwrites what is deleted, and leaves copies
// of rows that it has moved. It wraps [ErrScrubLater] when it has to be called
// again. A crash undoes nothing: the next [Open] finds what is left to do.
func (l *Ledger) Scrub(ctx context.Context) error {
	if !l.unclean {
		return nil
	}
	if err := l.scrub(ctx); err != nil {
		return fmt.Errorf("scrub ledger of tenant %q: %w", l.tenant, ledger.Refusal(err))
	}
	return nil
}

func (l *Ledger) scrub(ctx context.Context) error {
	l.conn.SetInterrupt(ctx.Done())
	defer l.conn.SetInterrupt(nil)
	if !l.rebuilt {
		if err := l.vacuum(); err != nil {
			return err
		}
		l.rebuilt = true
	}
	// The log cannot be emptied while somebody reads from it. Nobody waits here
	// for a verification that takes minutes: messages would wait too.
	l.conn.SetBusyTimeout(0)
	busy, err := sqlitetx.Int(l.conn, "PRAGMA wal_checkpoint(TRUNCATE)")
	l.conn.SetBusyTimeout(ledger.BusyTimeout)
	if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultBusy || err == nil && busy != 0 {
		return ErrScrubLater
	}
	if err != nil {
		return err
	}
	folder := filepath.Dir(l.path)
	if err := os.Remove(filepath.Join(folder, soilName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	l.unclean, l.rebuilt = false, false
	return atomicfile.SyncDir(folder)
}

// vacuum writes the file anew. A file of a gigabyte is not held in memory for it,
// nor put on another disk: SQLite takes /tmp otherwise, which containers may not
// write to.
func (l *Ledger) vacuum() error {
	folder := strings.ReplaceAll(filepath.Dir(l.path), "'", "''")
	return errors.Join(
		sqlitetx.Exec(l.conn, "PRAGMA temp_store_directory='"+folder+"'"),
		sqlitetx.Exec(l.conn, "PRAGMA temp_store=FILE"),
		sqlitex.ExecuteTransient(l.conn, "VACUUM", nil),
		sqlitetx.Exec(l.conn, "PRAGMA temp_store=MEMORY"),
	)
}
