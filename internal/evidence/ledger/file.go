package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// BusyTimeout is how long a connection waits for a lock of another connection.
const BusyTimeout = 10 * time.Second

// ErrNotFile means that the path is not a regular file.
var ErrNotFile = errors.New("it is not a file")

// File is a ledger's file, opened read-only.
type File struct {
	Conn   *sqlite.Conn
	path   string
	uri    string
	copy   string      // folder of the temporary copy, if any
	opened os.FileInfo // file info when opened
	log    bool        // there was an SQLite log
}

// OpenFile opens the ledger file at path. If SQLite cannot read the write-ahead log, for example on
// a read-only disk, OpenFile opens a temporary copy of the file. The copy does not show later
// changes of the file, but [File.Changed] does.
func OpenFile(path string) (*File, error) {
	// SQLite puts the log next to the file, not next to a link to it.
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotFile
	}
	if !hasLog(path) {
		f := &File{path: path, opened: info}
		return f, f.open(path, "?immutable=1")
	}
	f := &File{path: path, opened: info, log: true}
	err = f.open(path, "?mode=ro")
	if code := sqlite.ErrCode(err).ToPrimary(); code == sqlite.ResultCantOpen || code == sqlite.ResultReadOnly {
		return openCopy(path)
	}
	return f, err
}

func (f *File) open(path, parameters string) (err error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	f.uri = "file:" + escapeURI(absolute) + parameters
	f.Conn, err = f.Connect()
	return err
}

func hasLog(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > 0
}

// Connect opens another read-only connection to the ledger file.
func (f *File) Connect() (*sqlite.Conn, error) {
	conn, err := sqlite.OpenConn(f.uri, sqlite.OpenReadOnly, sqlite.OpenURI)
	if err != nil {
		return nil, err
	}
	conn.SetBusyTimeout(BusyTimeout)
	// This first read fails if SQLite cannot use the write-ahead log.
	if _, err = pragma(conn, "schema_version"); err == nil {
		err = errors.Join(sqlitetx.Exec(conn, "PRAGMA query_only=1"), sqlitetx.Exec(conn, "PRAGMA trusted_schema=0"))
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func escapeURI(path string) string {
	out := make([]byte, 0, len(path))
	for i := range len(path) {
		switch c := path[i]; {
		case c == '%' || c == '?' || c == '#' || c < ' ':
			out = append(out, '%', upperHex[c>>4], upperHex[c&15])
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

func openCopy(path string) (_ *File, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "hooktrail-ledger-*")
	if err != nil {
		return nil, fmt.Errorf("copy to read: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	target := filepath.Join(dir, FileName)
	for _, suffix := range [...]string{"", "-wal"} {
		if err := copyFile(target+suffix, path+suffix); err != nil {
			return nil, fmt.Errorf("copy to read: %w", err)
		}
	}
	f := &File{path: path, copy: dir, opened: info, log: true}
	return f, f.open(target, "?mode=ro")
}

func copyFile(to, from string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	_, err = io.Copy(target, source)
	return err
}

// Changed reports whether the file was changed in a way that open connections cannot follow. The
// caller must then open the file again, because reads could miss new data, or mix it with old data.
func (f *File) Changed() bool {
	info, err := os.Stat(f.path)
	if f.log {
		return err == nil && !os.SameFile(info, f.opened)
	}
	return err != nil || hasLog(f.path) ||
		info.Size() != f.opened.Size() || !info.ModTime().Equal(f.opened.ModTime()) || !os.SameFile(info, f.opened)
}

// Close closes the file, and removes the temporary copy if [OpenFile] made one.
func (f *File) Close() error {
	var err error
	if f.Conn != nil {
		err = f.Conn.Close()
	}
	if f.copy != "" {
		err = errors.Join(err, os.RemoveAll(f.copy))
	}
	return err
}

// Copy copies the ledger at path to the new file out, also while a writer runs. After an error, the
// new file does not exist.
func Copy(ctx context.Context, path, out string) (err error) {
	s, err := openSource(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	made, err := os.OpenFile(out, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // SQLite would let all users read it
	if err != nil {
		return fmt.Errorf("copy ledger: %w", err)
	}
	defer func() {
		if err = errors.Join(err, made.Close()); err != nil {
			err = errors.Join(err, os.Remove(out))
		}
	}()
	if err := s.vacuum(ctx, out); err != nil {
		return fmt.Errorf("copy ledger %s: %w", path, Refusal(err))
	}
	return errors.Join(made.Sync(), atomicfile.SyncDir(filepath.Dir(out)))
}
