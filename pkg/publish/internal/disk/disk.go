// Package disk implements file operations of an outbox that package os lacks.
package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// ErrNoSpace means that the disk, a disk quota or the file size limit is exhausted.
var ErrNoSpace = errors.New("no room on disk")

// MarkNoSpace adds ErrNoSpace to err if a full disk caused it.
func MarkNoSpace(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return err
}

// SyncDir syncs the file names in the folder dir to disk.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Replace replaces the content of a file atomically and durably.
func Replace(path string, data []byte) error {
	tmp := path + ".new"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// Preallocate opens the file at path, or creates it with the given size in bytes. Writes to the
// file then succeed even if the disk is full.
func Preallocate(path string, size int) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() == int64(size) {
		return os.OpenFile(path, os.O_RDWR, 0o600)
	}
	if err := Replace(path, make([]byte, size)); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR, 0o600)
}
