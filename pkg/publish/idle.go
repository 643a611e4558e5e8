package publish

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// idleRuns keeps the tallies of runs that were not heard of for long: on disk,
// so that the memory of an outbox does not grow with the runs it has seen. They
// lie in files by their hash, as lines like those of the cursor, the last line
// of a run counting.
type idleRuns struct {
	dir   string
	any   bool            // one was ever put here
	dirty map[string]bool // files to sync at a clean end; after another one nothing is trusted
}

func openIdleRuns(dir string) idleRuns {
	s := idleRuns{dir: filepath.Join(dir, "runs"), dirty: map[string]bool{}}
	_, err := os.Stat(s.dir)
	s.any = err == nil
	return s
}

// file returns where the tally of a run is.
func (s *idleRuns) file(key runKey) string {
	h := hashParts(key.tenant, key.run)
	return filepath.Join(s.dir, fmt.Sprintf("%02x", h[0]))
}

// put appends tallies.
func (s *idleRuns) put(list map[runKey]*tally) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("keep idle runs: %w", asNoRoom(err))
	}
	s.any = true
	files := map[string]*change{}
	for key, t := range list {
		name := s.file(key)
		if files[name] == nil {
			files[name] = &change{}
		}
		files[name].run(key, t)
	}
	for name, ch := range files {
		if err := s.append(name, *ch); err != nil {
			return fmt.Errorf("keep idle runs: %w", asNoRoom(err))
		}
		s.dirty[name] = true
	}
	return nil
}

func (s *idleRuns) append(name string, ch change) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	line, err := encodeChange(ch)
	if err == nil {
		// The newline in front ends what a crash may have left.
		_, err = f.Write(append([]byte("\n"), line...))
	}
	return errors.Join(err, f.Close())
}

// get returns the tally of a run, nil if it has none here.
func (s *idleRuns) get(key runKey) (*tally, error) {
	if !s.any {
		return nil, nil
	}
	data, err := os.ReadFile(s.file(key))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("look up idle run: %w", err)
	}
	name, err := json.Marshal(key.run)
	if err != nil {
		return nil, fmt.Errorf("look up idle run: %w", err)
	}
	var found *tally
	for line := range bytes.Lines(data) {
		if !bytes.Contains(line, name) {
			continue
		}
		if ch, ok := parseChange(line); ok && ch.Runs[key.tenant][key.run] != nil {
			found = ch.Runs[key.tenant][key.run]
		}
	}
	return found, nil
}

// close syncs what was put.
func (s *idleRuns) close() error {
	for name := range s.dirty {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("sync idle runs: %w", err)
		}
		if err := errors.Join(syncData(f), f.Close()); err != nil {
			return fmt.Errorf("sync idle runs: %w", err)
		}
	}
	clear(s.dirty)
	return nil
}

// retire moves the runs that were not heard of for longest out of memory, when
// there are too many. Those that wait for a seal stay. cursor.mu is held, and
// what has changed is saved.
func (f *forwarder) retire() error {
	c := f.cursor
	if len(c.runs) <= f.opts.runsInMemory || c.stale || c.dirty.Runs != nil {
		return nil
	}
	keys := make([]runKey, 0, len(c.runs))
	for key := range c.runs {
		if _, waits := f.due[key]; !waits {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b runKey) int {
		return cmp.Compare(c.runs[a].heard, c.runs[b].heard)
	})
	old := map[runKey]*tally{}
	for _, key := range keys[:len(keys)/2] {
		old[key] = c.runs[key]
	}
	if err := c.idle.put(old); err != nil {
		return err
	}
	for key := range old {
		delete(c.runs, key)
	}
	return nil
}

// tallyOf returns the tally of a run, from wherever it is. cursor.mu is held.
func (f *forwarder) tallyOf(key runKey) *tally {
	if t := f.cursor.runs[key]; t != nil {
		return t
	}
	t, err := f.cursor.idle.get(key)
	if err != nil {
		// A seal that counts anew would be a false alarm; without one the run
		// is reported as not sealed.
		f.note(err)
		t = &tally{Lost: true}
	}
	if t == nil {
		t = &tally{}
	}
	f.cursor.runs[key] = t
	return t
}
