package disk

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"time"
)

// Mutex is a lock for goroutines of several processes. The exit of a process unlocks it.
type Mutex struct {
	token chan struct{} // contains one token, which a goroutine takes before it locks file
	file  *os.File
}

const mutexPoll = 2 * time.Millisecond

// OpenMutex opens the lock file at path, and creates it if necessary.
func OpenMutex(path string) (*Mutex, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	m := &Mutex{token: make(chan struct{}, 1), file: f}
	m.token <- struct{}{}
	return m, nil
}

// Lock waits until it has locked the file or ctx ends.
func (m *Mutex) Lock(ctx context.Context) error {
	select {
	case <-m.token:
	case <-ctx.Done():
		return fmt.Errorf("wait for the outbox: %w", ctx.Err())
	}
	if err := m.lockFile(ctx); err != nil {
		m.token <- struct{}{}
		return err
	}
	return nil
}

func (m *Mutex) lockFile(ctx context.Context) error {
	for {
		err := syscall.Flock(int(m.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("lock outbox: %w", err)
		}
		// Poll, because waiting in the system call would ignore ctx.
		timer := time.NewTimer(rand.N(mutexPoll)) //nolint:gosec // jitter
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("wait for the outbox: %w", ctx.Err())
		case <-timer.C:
		}
	}
}

// Unlock releases the lock.
func (m *Mutex) Unlock() {
	_ = syscall.Flock(int(m.file.Fd()), syscall.LOCK_UN) // cannot fail on an open file
	m.token <- struct{}{}
}

// Close closes the file of the lock.
func (m *Mutex) Close() error { return m.file.Close() }
