package filelock_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
)

func TestTry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := filelock.Try(path); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("second: got %v, want %v", err, filelock.ErrHeld)
	}
	for range 2 {
		if err := first.Unlock(); err != nil {
			t.Errorf("unlock: %v", err)
		}
	}
	again, err := filelock.Try(path)
	if err != nil {
		t.Fatalf("after unlock: %v", err)
	}
	if err := again.Unlock(); err != nil {
		t.Errorf("unlock: %v", err)
	}
	if _, err := filelock.Try(filepath.Join(path, "below")); err == nil || errors.Is(err, filelock.ErrHeld) {
		t.Errorf("no folder: got %v", err)
	}
}

func TestWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := filelock.Wait(short, path, func() { told++ }); !errors.Is(err, filelock.ErrHeld) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("held: got %v, want %v", err, filelock.ErrHeld)
	}
	if told != 1 {
		t.Errorf("told %d times that it is held, want once", told)
	}
	got, waiting := make(chan error, 1), make(chan struct{})
	go func() {
		l, err := filelock.Wait(t.Context(), path, func() { close(waiting) })
		if err == nil {
			err = l.Unlock()
		}
		got <- err
	}()
	<-waiting
	if err := held.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Errorf("once it is free: %v", err)
	}
}

func TestShare(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	ctx, giveUp := context.WithCancelCause(t.Context())
	defer giveUp(nil)
	held := func() { giveUp(errors.New("a share is in the way of another one")) }
	var shares []*filelock.Lock
	for range 2 {
		l, err := filelock.Share(ctx, path, held)
		if err != nil {
			t.Fatal(err, context.Cause(ctx))
		}
		shares = append(shares, l)
	}
	for _, l := range shares {
		if _, err := filelock.Try(path); !errors.Is(err, filelock.ErrHeld) {
			t.Errorf("all of it, beside a share: got %v, want %v", err, filelock.ErrHeld)
		}
		if err := l.Unlock(); err != nil {
			t.Fatal(err)
		}
	}
	all, err := filelock.Try(path)
	if err != nil {
		t.Fatalf("all of it, behind the last share: %v", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := filelock.Share(short, path, func() {}); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("a share, beside all of it: got %v, want %v", err, filelock.ErrHeld)
	}
	if err := all.Unlock(); err != nil {
		t.Fatal(err)
	}
}
