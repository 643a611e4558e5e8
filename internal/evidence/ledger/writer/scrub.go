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

// markerName is the name of a file next to the ledger. While the file exists, the ledger may
// contain remains of destroyed payloads.
const markerName = "ledger.scrub"

// ErrScrubLater means that [Ledger.Scrub] cannot finish because another process reads the ledger.
var ErrScrubLater = errors.New("ledger is being read: destroyed payloads remain in its log")

// Unclean reports whether the files of a ledger may still contain destroyed payloads, because
// [Ledger.Scrub] has not finished.
func Unclean(dir, tenant string) (bool, error) {
	path, err := ledger.Path(dir, tenant)
	if err != nil {
		return false, err
	}
	return UncleanFile(path)
}

// UncleanFile is like [Unclean] for the ledger at path.
func UncleanFile(path string) (bool, error) { return hasMarker(path) }

func hasMarker(path string) (bool, error) {
	_, err := os.Stat(filepath.Join(filepath.Dir(path), markerName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Unclean reports whether the files may contain destroyed payloads, so that [Ledger.Scrub] is
// needed.
func (l *Ledger) Unclean() bool { return l.scrubber.unclean }

// Scrub rewrites the ledger's file, so that the file and its write-ahead log no longer contain
// destroyed payloads. It needs twice the size of the file as free disk space. After
// [ErrScrubLater] or a crash, the caller must repeat Scrub.
//
// SQLite's option secure_delete is not enough, because it leaves copies of rows that SQLite has
// moved.
func (l *Ledger) Scrub(ctx context.Context) error {
	if !l.scrubber.unclean {
		return nil
	}
	if err := l.scrubber.scrub(ctx); err != nil {
		return fmt.Errorf("scrub ledger of tenant %q: %w", l.tenant, ledger.Refusal(err))
	}
	return nil
}

type scrubber struct {
	path string
	conn *sqlite.Conn

	unclean bool // the marker file exists
	rebuilt bool // the file is clean, but the log may contain remains
}

func (s *scrubber) find() (err error) {
	s.unclean, err = hasMarker(s.path)
	return err
}

// mark must be called before a payload is destroyed, so that the marker exists if the process
// crashes.
func (s *scrubber) mark() error {
	s.rebuilt = false
	if s.unclean {
		return nil
	}
	folder := filepath.Dir(s.path)
	if err := os.WriteFile(filepath.Join(folder, markerName), nil, 0o600); err != nil {
		return fmt.Errorf("mark file for scrubbing: %w", err)
	}
	s.unclean = true
	return atomicfile.SyncDir(folder)
}

func (s *scrubber) scrub(ctx context.Context) error {
	s.conn.SetInterrupt(ctx.Done())
	defer s.conn.SetInterrupt(nil)
	if !s.rebuilt {
		if err := s.vacuum(); err != nil {
			return err
		}
		s.rebuilt = true
	}
	// Do not wait for readers, because a verification can take minutes, and new messages would have
	// to wait as long.
	s.conn.SetBusyTimeout(0)
	busy, err := sqlitetx.Int(s.conn, "PRAGMA wal_checkpoint(TRUNCATE)")
	s.conn.SetBusyTimeout(ledger.BusyTimeout)
	if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultBusy || err == nil && busy != 0 {
		return ErrScrubLater
	}
	if err != nil {
		return err
	}
	folder := filepath.Dir(s.path)
	if err := os.Remove(filepath.Join(folder, markerName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.unclean, s.rebuilt = false, false
	return atomicfile.SyncDir(folder)
}

// vacuum lets SQLite write its temporary file next to the ledger. The file can be too large for
// memory, and some containers cannot write to /tmp.
func (s *scrubber) vacuum() error {
	folder := strings.ReplaceAll(filepath.Dir(s.path), "'", "''")
	return errors.Join(
		sqlitetx.Exec(s.conn, "PRAGMA temp_store_directory='"+folder+"'"),
		sqlitetx.Exec(s.conn, "PRAGMA temp_store=FILE"),
		sqlitex.ExecuteTransient(s.conn, "VACUUM", nil),
		sqlitetx.Exec(s.conn, "PRAGMA temp_store=MEMORY"),
	)
}
