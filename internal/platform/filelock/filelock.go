// Package filelock holds locks that a process loses when it ends, however it
// ends: flock(2) on a file that stays in place.
//
// A lock is held by one open file, so a second [Try] in the same process is
// refused like one from another process. The file is never removed: whoever
// removed it could leave two processes holding locks on two files of one name.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// ErrHeld is returned by [Try] when somebody else holds the lock.
var ErrHeld = errors.New("lock is held by another process")

const pollEvery = 25 * time.Millisecond

// Lock is a lock that is held until Unlock, or until the process ends.
type Lock struct{ file *os.File }

// Try takes the lock on path, creating the file when it is missing, or returns
// an error that wraps [ErrHeld] at once.
func Try(path string) (*Lock, error) { return try(path, syscall.LOCK_EX) }

func try(path string, how int) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
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
	_ = f.Close() // nothing was written to it
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("lock %s: %w", path, ErrHeld)
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// Wait takes the lock on path, waiting for its holder until ctx ends. It calls
// held, once, if there is one.
func Wait(ctx context.Context, path string, held func()) (*Lock, error) {
	return wait(ctx, path, syscall.LOCK_EX, held)
}

// Share takes a share of the lock on path, waiting until ctx ends for one that has
// all of it. Any number can have a share; nobody can have all of it then.
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
