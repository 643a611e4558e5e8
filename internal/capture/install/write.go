package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrChanged reports that another program changed the file after [Plan] read it.
var ErrChanged = errors.New("another program changed the file; try again")

// Apply writes the change atomically. If the file has changed since Plan read it, Apply returns
// [ErrChanged].
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
	file, info, err := target(c.File)
	if err != nil {
		return fmt.Errorf("write %s: %w", c.File, err)
	}
	if action == Removed {
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("remove configuration: %w", err)
		}
		c.removeFolders()
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	if err := replace(file, c.after, info); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

func (c *Change) removeFolders() {
	if c.project == "" {
		return
	}
	for folder := filepath.Dir(c.File); folder != filepath.Clean(c.project); folder = filepath.Dir(folder) {
		info, err := os.Lstat(folder)
		if err != nil || !info.IsDir() || os.Remove(folder) != nil { // not empty, or a link
			return
		}
	}
}

const maxLinks = 40

func target(file string) (string, fs.FileInfo, error) {
	file, err := follow(file)
	if err != nil {
		return "", nil, err
	}
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return file, nil, nil
	case err == nil && info.Mode().Perm()&0o222 == 0:
		err = fmt.Errorf("file is read-only: %w", fs.ErrPermission)
	}
	return file, info, err
}

func follow(file string) (string, error) {
	for range maxLinks {
		to, err := os.Readlink(file)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EINVAL) {
			return file, nil
		}
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(file))
			if err != nil {
				return "", err
			}
			to = filepath.Join(dir, to)
		}
		file = to
	}
	return "", syscall.ELOOP
}

func replace(file string, data []byte, oldInfo fs.FileInfo) (err error) {
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	mode := fs.FileMode(0o644)
	if oldInfo != nil {
		mode = oldInfo.Mode().Perm()
		err = keepOwner(f, oldInfo)
	}
	_, failed := f.Write(data)
	err = errors.Join(err, failed, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

func keepOwner(f *os.File, old fs.FileInfo) error {
	was, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if is, ok := info.Sys().(*syscall.Stat_t); ok && (is.Uid != was.Uid || is.Gid != was.Gid) {
		return f.Chown(int(was.Uid), int(was.Gid))
	}
	return nil
}
