package auditor

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
)

const unfinished = ".export-"

func writeTo(file string, out io.Writer, write func(io.Writer) error) (err error) {
	if file == "" {
		buffered := bufio.NewWriter(out)
		return cmp.Or(write(buffered), buffered.Flush())
	}
	if _, err := os.Lstat(file); err == nil {
		return existsError(file)
	}
	removeLeft(filepath.Dir(file))
	f, lock, err := createLocked(filepath.Dir(file))
	if err != nil {
		return fmt.Errorf("create file: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
		err = errors.Join(err, lock.Unlock())
	}()
	buffered := bufio.NewWriterSize(f, 1<<20)
	err = write(buffered)
	if err == nil {
		err = errors.Join(buffered.Flush(), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return rename(f.Name(), file)
}

func rename(from, to string) error {
	err := os.Link(from, to)
	if errors.Is(err, fs.ErrExist) {
		return existsError(to)
	}
	if err != nil { // some file systems do not support links
		return os.Rename(from, to)
	}
	return os.Remove(from)
}

func existsError(file string) error {
	return fmt.Errorf("%s already exists: name another file, or remove it", file)
}

// createLocked creates a file that the process locks until it ends, so that removeLeft leaves it.
func createLocked(folder string) (*os.File, *filelock.Lock, error) {
	for {
		f, err := os.CreateTemp(folder, unfinished+"*") // mode 0600
		if err != nil {
			return nil, nil, err
		}
		lock, err := filelock.Try(f.Name())
		if err != nil && !errors.Is(err, filelock.ErrHeld) {
			return nil, nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
		if err == nil && isAt(f, f.Name()) {
			return f, lock, nil
		}
		// Another export took the file before it was locked, and removes it.
		if lock != nil {
			_ = lock.Unlock()
		}
		_ = f.Close()
	}
}

func isAt(f *os.File, path string) bool {
	open, err := f.Stat()
	at, failed := os.Lstat(path)
	return err == nil && failed == nil && os.SameFile(open, at)
}

// removeLeft removes the files of exports that were killed, because they contain plain payloads. The
// files of other users and of running exports stay.
func removeLeft(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return // the export reports it
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), unfinished)
		info, err := e.Info()
		if !ok || strings.Trim(number, "0123456789") != "" || err != nil || !info.Mode().IsRegular() || !isOwn(info) {
			continue
		}
		path := filepath.Join(folder, e.Name())
		if lock, err := filelock.Try(path); err == nil {
			_ = os.Remove(path) // the next export retries
			_ = lock.Unlock()
		}
	}
}

func isOwn(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Getuid()
}
