package agents

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/platform/filelock"
)

// SharedCallIDs returns CallIDs that are stored as files in dir. Use it in a process that reads
// only one payload.
func SharedCallIDs(dir string) CallIDs { return &folder{dir: dir} }

type folder struct{ dir string }

const (
	maxIdle  = 7 * 24 * time.Hour
	lockWait = 50 * time.Millisecond
	lockPoll = time.Millisecond
)

// Call implements [CallIDs].
func (f *folder) Call(k Key, identity string) string {
	return f.id(k, identity, (*calls).call)
}

// Result implements [CallIDs].
func (f *folder) Result(k Key, identity string, denied bool) string {
	if denied {
		return f.id(k, identity, (*calls).deniedResult)
	}
	return f.id(k, identity, (*calls).result)
}

// Denied implements [CallIDs].
func (f *folder) Denied(k Key, id string) {
	_ = f.update(k, func(c *calls) { c.denied(k, id) }) // best effort: an error must not stop the agent
}

// Stated implements [CallIDs].
func (f *folder) Stated(k Key, id string) {
	_ = f.update(k, func(c *calls) { c.stated(id, hasCall) }) // best effort: an error must not stop the agent
}

// StatedResult implements [CallIDs].
func (f *folder) StatedResult(k Key, id string) {
	_ = f.update(k, func(c *calls) { c.stated(id, hasResult) }) // best effort: an error must not stop the agent
}

// DenyOpen implements [CallIDs].
func (f *folder) DenyOpen(k Key, identity string) (id string) {
	_ = f.update(k, func(c *calls) { id = c.denyOpen(k, identity) }) // best effort: an error must not stop the agent
	return id
}

// IsDenied implements [CallIDs].
func (f *folder) IsDenied(k Key) bool {
	var c calls
	data, err := os.ReadFile(f.path(k))
	return err == nil && json.Unmarshal(data, &c) == nil && c.isDenied()
}

// Mark implements [CallIDs].
func (f *folder) Mark(session string, m Mark) {
	k := m.key(session)
	if f.IsDenied(k) {
		return
	}
	_ = f.update(k, func(c *calls) { c.mark(k) }) // best effort: an error must not stop the agent
}

// IsMarked implements [CallIDs].
func (f *folder) IsMarked(session string, m Mark) bool { return f.IsDenied(m.key(session)) }

func (f *folder) path(k Key) string {
	session, call := Key{Session: k.Session}.hash(), k.hash()
	return filepath.Join(f.dir, hex.EncodeToString(session[:12]), hex.EncodeToString(call[:12]))
}

func (f *folder) id(k Key, identity string, take func(*calls, string) int) string {
	var n int
	err := f.update(k, func(c *calls) { n = take(c, identity) })
	if errors.Is(err, filelock.ErrHeld) {
		return callID(Key{k.Session, k.Call + "\x00" + identity}, 0)
	}
	return callID(k, n)
}

// Prompt implements [CallIDs].
func (f *folder) Prompt(k Key, identity string) string {
	var n int
	_ = f.update(k, func(c *calls) { n = c.call(identity) }) // without the lock, it counts as the first
	step := promptID(k, n)
	f.Began(k.Session, step)
	return step
}

// Began implements [CallIDs].
func (f *folder) Began(session, step string) {
	path := f.stepPath(session)
	f.open(filepath.Dir(path))
	_ = os.WriteFile(path, []byte(step), 0o600) // best effort: an error must not stop the agent
}

// Step implements [CallIDs].
func (f *folder) Step(session string) string {
	step, err := os.ReadFile(f.stepPath(session))
	if err != nil || !ingest.Usable(string(step)) {
		return ""
	}
	return string(step)
}

func (f *folder) stepPath(session string) string {
	return filepath.Join(filepath.Dir(f.path(Key{Session: session})), "step")
}

func (f *folder) update(k Key, do func(c *calls)) error {
	path := f.path(k)
	f.open(filepath.Dir(path))
	lock, err := lockSoon(path)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }() // the file is already written
	var c calls
	data, err := os.ReadFile(path)
	if err != nil || len(data) > 0 && json.Unmarshal(data, &c) != nil {
		c = nil // a killed process left an incomplete file
	}
	do(&c)
	if data, err = json.Marshal(c); err == nil {
		_ = os.WriteFile(path, data, 0o600) // after an error, the call has no paired result
	}
	return nil
}

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

// lockSoon waits at most lockWait, because a suspended process can hold the lock
// indefinitely.
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
