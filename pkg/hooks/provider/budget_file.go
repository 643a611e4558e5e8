package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// spending is the JSON format of the budget file, so the names of its fields must not change.
type spending struct {
	Spent  float64          `json:"spent"`
	Models map[string]usage `json:"models"`
}

type usage struct {
	Tokens events.Tokens `json:"tokens"`
	Spent  float64       `json:"spent"`
}

func (s *spending) add(model string, used events.Tokens, cost float64) {
	if s.Models == nil {
		s.Models = map[string]usage{}
	}
	u := s.Models[model]
	s.Models[model] = usage{u.Tokens.Plus(used), u.Spent + cost}
	s.Spent += cost
}

func (s *spending) merge(more spending) {
	for model, u := range more.Models {
		s.add(model, u.Tokens, u.Spent)
	}
}

func readSpending(path string) (spending, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return spending{}, nil
	}
	if err != nil {
		return spending{}, err
	}
	var s spending
	if err := json.Unmarshal(data, &s); err != nil || s.Models == nil || s.Spent < 0 {
		return spending{}, fmt.Errorf("%s: %w", path, errSpending)
	}
	return s, nil
}

func addToFile(ctx context.Context, path string, more spending) (err error) {
	unlock, err := lock(ctx, path+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	all, err := readSpending(path)
	if err != nil {
		return err
	}
	all.merge(more)
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return replaceFile(path, append(data, '\n'))
}

func replaceFile(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	// Sync the directory, so that the new file survives a power cut. Ignore errors, because the old
	// file is valid too.
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync()
		_ = dir.Close()
	}
	return nil
}

const lockEvery = 5 * time.Millisecond

// The kernel releases the lock when the process ends, so a crash leaves no lock behind.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(lockEvery)
	defer tick.Stop()
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil // cannot lose data, because the lock file is empty
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, ctx.Err())
		}
	}
}
