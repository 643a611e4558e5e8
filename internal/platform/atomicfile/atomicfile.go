// Package atomicfile replaces files whole or not at all.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write makes data the content of the file at path, readable by its owner alone.
// Readers find the file as it was or as it is then, and a crash leaves one of the
// two. When it returns nil the new one is on disk. A crash can leave a file beside
// it whose name begins with ".new-".
func Write(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(dir)
}

// SyncDir brings the names in a folder to disk.
func SyncDir(dir string) (err error) {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Sync()
}
