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

// ErrInUse means that another process has locked the file.
var ErrInUse = errors.New("in use")

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
			return nil, errors.Join(fmt.Errorf("%w by %s: %w", ErrInUse, holder(f), ctx.Err()), f.Close())
		case <-tick.C:
		}
	}
}

// holder describes the process that has locked f. Lock writes the file when it gets the lock.
func holder(f *os.File) string {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, maxProcess))
	process, errNumber := strconv.Atoi(strings.TrimSpace(string(text)))
	info, errInfo := f.Stat()
	if errors.Join(err, errNumber, errInfo) != nil {
		return "another process"
	}
	return fmt.Sprintf("process %d since %s", process, info.ModTime().UTC().Format(time.RFC3339))
}

// maxProcess is the greatest length of a process id in a lock file.
const maxProcess = 32

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
	text, err := io.ReadAll(io.LimitReader(f, maxProcess))
	if err != nil {
		return true, 0, err
	}
	process, _ = strconv.Atoi(strings.TrimSpace(string(text))) // older versions wrote no id
	return true, process, nil
}
