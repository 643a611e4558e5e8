package publish

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// syncDir puts the names in dir on disk.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// replaceFile writes a file that after a crash is either the old or the new one.
func replaceFile(path string, data []byte) error {
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
	return syncDir(filepath.Dir(path))
}

// preallocate makes a file of size bytes, all zero, whose blocks are taken.
func preallocate(path string, size int) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() == int64(size) {
		return os.OpenFile(path, os.O_RDWR, 0o600)
	}
	if err := replaceFile(path, make([]byte, size)); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR, 0o600)
}

const lockPoll = 25 * time.Millisecond

// sign writes which process holds a lock into its file, for who looks.
func sign(f *os.File) error {
	err := f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt(strconv.AppendInt(nil, int64(os.Getpid()), 10), 0)
	}
	if err = asNoRoom(err); err == nil || errors.Is(err, errNoRoom) {
		return nil // on a full disk it is not told
	}
	return errors.Join(fmt.Errorf("lock: %w", err), f.Close())
}

// lockDir takes the lock of that name on an outbox, waiting for its holder until ctx ends.
// It is held until the file is closed, or the process ends.
func lockDir(ctx context.Context, dir, name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, sign(f)
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock: %w", err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("in use by another process: %w", ctx.Err()), f.Close())
		case <-tick.C:
		}
	}
}
