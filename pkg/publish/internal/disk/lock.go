package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const lockPoll = 25 * time.Millisecond

// Lock locks the file at path exclusively. It waits until ctx ends. Closing the file ends the lock.
func Lock(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, writeProcess(f)
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

func writeProcess(f *os.File) error {
	err := f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt(strconv.AppendInt(nil, int64(os.Getpid()), 10), 0)
	}
	if err = MarkNoSpace(err); err == nil || errors.Is(err, ErrNoSpace) {
		return nil // on a full disk, the file lacks the process id
	}
	return errors.Join(fmt.Errorf("lock: %w", err), f.Close())
}

// LockHolder reports whether a process has locked the file at path. process is its id, or 0 if
// unknown.
func LockHolder(path string) (isHeld bool, process int, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, 0, nil
	}
	if err != nil {
		return false, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// The only way to test the lock is to take it for a moment. A process that wants it at that
	// moment tries again.
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		return false, 0, nil
	}
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return false, 0, err
	}
	text, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return true, 0, err
	}
	process, _ = strconv.Atoi(strings.TrimSpace(string(text))) // older versions wrote no id
	return true, process, nil
}
