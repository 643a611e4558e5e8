package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrChanged is returned by [Change.Apply] when the file is not what it was when
// the change was planned.
var ErrChanged = errors.New("changed meanwhile by somebody else; try again")

// Apply writes the change: the file is either the old one or the new one,
// whatever happens. A link stays one, and so do permissions.
func (c *Change) Apply() error {
	action := c.Action()
	if action == Unchanged {
		return nil
	}
	now, err := os.ReadFile(c.File)
	if err != nil && (c.exists || !errors.Is(err, fs.ErrNotExist)) {
		return fmt.Errorf("read configuration: %w", err)
	}
	if !bytes.Equal(now, c.before) {
		return fmt.Errorf("write %s: %w", c.File, ErrChanged)
	}
	if action == Removed {
		if err := os.Remove(c.File); err != nil {
			return fmt.Errorf("remove configuration: %w", err)
		}
		return nil
	}
	file := c.File
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	if err := replace(file, c.after, mode); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// replace gives a file new content at once.
func replace(file string, data []byte, mode fs.FileMode) (err error) {
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}
