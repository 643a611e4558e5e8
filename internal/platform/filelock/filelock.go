// Package filelock locks files with flock(2).
//
// The operating system releases a lock when the process exits. A lock belongs to an open file and
// not to a process, so a second [Try] fails even in the same process. Lock files are never removed.
// Otherwise one process could lock the removed file while another process locks a new file at the
// same path.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// ErrHeld means that the file is already locked. [Try] wraps it.
var ErrHeld = errors.New("lock is held by another process")

const pollEvery = 25 * time.Millisecond

// Lock is a locked file.
type Lock struct{ file *os.File }

// Try locks the file at path without waiting. The error for a locked file wraps [ErrHeld].
func Try(path string) (*Lock, error) { return try(path, syscall.LOCK_EX) }

func try(path string, how int) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if how == syscall.LOCK_SH && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) {
		f, err = os.Open(path) // enough for a reader of a folder that it may not write to
	}
	if err != nil {
		return nil, fmt.Errorf("lock file: %w", err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return &Lock{file: f}, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("lock %s: %w", path, ErrHeld)
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// Wait locks the file at path. If another lock exists, it calls held once and waits.
func Wait(ctx context.Context, path string, held func()) (*Lock, error) {
	return wait(ctx, path, syscall.LOCK_EX, held)
}

// Share is like [Wait] for a shared lock, which only excludes exclusive locks. A process that may
// only read an existing lock file can share its lock.
func Share(ctx context.Context, path string, held func()) (*Lock, error) {
	return wait(ctx, path, syscall.LOCK_SH, held)
}

func wait(ctx context.Context, path string, how int, held func()) (*Lock, error) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for tries := 0; ; tries++ {
		l, err := try(path, how)
		if !errors.Is(err, ErrHeld) {
			return l, err
		}
		if tries == 0 {
			held()
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", err, ctx.Err())
		case <-tick.C:
		}
	}
}

// Unlock releases the lock. Calling it again does nothing.
func (l *Lock) Unlock() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
