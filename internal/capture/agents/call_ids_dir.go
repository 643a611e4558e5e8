package agents

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
)

// Dir returns Pairs for processes that each read one payload. They share small
// files below dir, one per key in a folder per session, each under its own lock;
// they are created when they are needed. What cannot be read or written there
// within a moment is done without. Folders of sessions in which nothing new came
// for a week are removed.
func Dir(dir string) Pairs { return &folder{dir: dir} }

type folder struct{ dir string }

const (
	keptFor  = 7 * 24 * time.Hour
	lockWait = 50 * time.Millisecond
	lockPoll = time.Millisecond
)

// Call implements [Pairs].
func (f *folder) Call(k Key, mark string) string {
	var n int
	f.change(k, func(c *calls) { n = c.call(mark) })
	return callID(k, n)
}

// Result implements [Pairs].
func (f *folder) Result(k Key, mark string) string {
	var n int
	f.change(k, func(c *calls) { n = c.result(mark) })
	return callID(k, n)
}

// Denied implements [Pairs].
func (f *folder) Denied(k Key, id string) {
	f.change(k, func(c *calls) { c.denied(k, id) })
}

// IsDenied implements [Pairs].
func (f *folder) IsDenied(k Key) bool {
	var c calls
	data, err := os.ReadFile(f.path(k))
	return err == nil && json.Unmarshal(data, &c) == nil && c.isDenied()
}

func (f *folder) path(k Key) string {
	session, call := Key{Session: k.Session}.hash(), k.hash()
	return filepath.Join(f.dir, hex.EncodeToString(session[:12]), hex.EncodeToString(call[:12]))
}

// change calls do with the calls of k, and keeps them if it can.
func (f *folder) change(k Key, do func(c *calls)) {
	if !f.kept(k, do) {
		do(new(calls))
	}
}

// kept calls do with the calls of k while it has them to itself. It returns false
// where it cannot have them.
func (f *folder) kept(k Key, do func(c *calls)) bool {
	path := f.path(k)
	f.open(filepath.Dir(path))
	lock, err := lockSoon(path)
	if err != nil {
		return false
	}
	defer func() { _ = lock.Unlock() }() // what was written is written
	var c calls
	data, err := os.ReadFile(path)
	if err != nil || len(data) > 0 && json.Unmarshal(data, &c) != nil {
		c = nil // torn by a process that was killed
	}
	do(&c)
	if data, err = json.Marshal(c); err == nil {
		_ = os.WriteFile(path, data, 0o600) // else unpaired, which is no reason to hold up the agent
	}
	return true
}

// open creates the folder of a session, and with it removes those of old ones.
func (f *folder) open(session string) {
	if os.Mkdir(session, 0o700) == nil {
		f.sweep()
		return
	}
	if _, err := os.Stat(session); err != nil {
		_ = os.MkdirAll(session, 0o700) // what follows says so too
	}
}

func (f *folder) sweep() {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && e.IsDir() && time.Since(info.ModTime()) > keptFor {
			_ = os.RemoveAll(filepath.Join(f.dir, e.Name())) // the next one tries again
		}
	}
}

// lockSoon takes the lock on path, waiting for other payloads but not for a
// process that was stopped.
func lockSoon(path string) (*filelock.Lock, error) {
	lock, err := filelock.Try(path)
	if !errors.Is(err, filelock.ErrHeld) {
		return lock, err
	}
	end := time.NewTimer(lockWait)
	defer end.Stop()
	poll := time.NewTicker(lockPoll)
	defer poll.Stop()
	for {
		select {
		case <-end.C:
			return nil, err
		case <-poll.C:
			if lock, err = filelock.Try(path); !errors.Is(err, filelock.ErrHeld) {
				return lock, err
			}
		}
	}
}
