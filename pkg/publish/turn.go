package publish

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// turn is the right to change a shared outbox: one goroutine of one process at a
// time has it. Who is killed loses it.
type turn struct {
	mine chan struct{} // holds one token: who has it may ask for the lock
	file *os.File      // whose lock is the right among processes
}

const (
	turnName = "append.lock"
	// turnPoll is how long to wait, at most, before asking again.
	turnPoll = 2 * time.Millisecond
)

func openTurn(dir string) (*turn, error) {
	f, err := os.OpenFile(filepath.Join(dir, turnName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	t := &turn{mine: make(chan struct{}, 1), file: f}
	t.mine <- struct{}{}
	return t, nil
}

// take waits for the turn until ctx ends.
func (t *turn) take(ctx context.Context) error {
	select {
	case <-t.mine:
	case <-ctx.Done():
		return fmt.Errorf("wait for the outbox: %w", ctx.Err())
	}
	if err := t.lock(ctx); err != nil {
		t.mine <- struct{}{}
		return err
	}
	return nil
}

func (t *turn) lock(ctx context.Context) error {
	for {
		err := syscall.Flock(int(t.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("lock outbox: %w", err)
		}
		// The lock is held for some microseconds. Waiting in the system call would
		// be fairer, and would not end with ctx.
		timer := time.NewTimer(rand.N(turnPoll)) //nolint:gosec // jitter
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("wait for the outbox: %w", ctx.Err())
		case <-timer.C:
		}
	}
}

// give ends the turn.
func (t *turn) give() {
	_ = syscall.Flock(int(t.file.Fd()), syscall.LOCK_UN) // of a file that is open
	t.mine <- struct{}{}
}

func (t *turn) close() error { return t.file.Close() }
