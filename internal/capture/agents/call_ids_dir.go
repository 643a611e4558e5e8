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

// SharedCallIDs returns CallIDs for processes that each read one payload. The
// processes share small files below dir. Each session has a folder with one locked
// file for each key. If a file is not available within 50 ms, the call is not
// stored. Folders of sessions without a new call for a week are removed.
func SharedCallIDs(dir string) CallIDs { return &folder{dir: dir} }

type folder struct{ dir string }

const (
	maxIdle  = 7 * 24 * time.Hour
	lockWait = 50 * time.Millisecond
	lockPoll = time.Millisecond
)

// Call implements [CallIDs].
func (f *folder) Call(k Key, identity string) string {
	var n int
	f.change(k, func(c *calls) { n = c.call(identity) })
	return callID(k, n)
}

// Result implements [CallIDs].
func (f *folder) Result(k Key, identity string) string {
	var n int
	f.change(k, func(c *calls) { n = c.result(identity) })
	return callID(k, n)
}

// Denied implements [CallIDs].
func (f *folder) Denied(k Key, id string) {
	f.change(k, func(c *calls) { c.denied(k, id) })
}

// IsDenied implements [CallIDs].
func (f *folder) IsDenied(k Key) bool {
	var c calls
	data, err := os.ReadFile(f.path(k))
	return err == nil && json.Unmarshal(data, &c) == nil && c.isDenied()
}

func (f *folder) path(k Key) string {
	session, call := Key{Session: k.Session}.hash(), k.hash()
	return filepath.Join(f.dir, hex.EncodeToString(session[:12]), hex.EncodeToString(call[:12]))
}

// change calls do with the calls of k, and stores them if possible.
func (f *folder) change(k Key, do func(c *calls)) {
	if !f.update(k, do) {
		do(new(calls))
	}
}

// update calls do with the calls of k under the lock of their file. It returns false
// if it cannot lock the file.
func (f *folder) update(k Key, do func(c *calls)) bool {
	path := f.path(k)
	f.open(filepath.Dir(path))
	lock, err := lockSoon(path)
	if err != nil {
		return false
	}
	defer func() { _ = lock.Unlock() }() // the file is already written
	var c calls
	data, err := os.ReadFile(path)
	if err != nil || len(data) > 0 && json.Unmarshal(data, &c) != nil {
		c = nil // a killed process left an incomplete file
	}
	do(&c)
	if data, err = json.Marshal(c); err == nil {
		_ = os.WriteFile(path, data, 0o600) // on failure the call stays unpaired; the agent must not wait
	}
	return true
}

// open creates the folder of a session. A new session removes old folders.
func (f *folder) open(session string) {
	if os.Mkdir(session, 0o700) == nil {
		f.sweep()
		return
	}
	if _, err := os.Stat(session); err != nil {
		_ = os.MkdirAll(session, 0o700) // locking reports the error
	}
}

func (f *folder) sweep() {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && e.IsDir() && time.Since(info.ModTime()) > maxIdle {
			_ = os.RemoveAll(filepath.Join(f.dir, e.Name())) // the next sweep retries
		}
	}
}

// lockSoon locks path. It waits for processes that read other payloads, but not for
// a stopped process.
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
