package cursor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
)

type idleRuns struct {
	dir   string
	any   bool
	dirty map[string]bool
}

func openIdle(dir string) idleRuns {
	s := idleRuns{dir: filepath.Join(dir, "runs"), dirty: map[string]bool{}}
	_, err := os.Stat(s.dir)
	s.any = err == nil
	return s
}

func (s *idleRuns) file(key RunKey) string {
	h := segment.HashID(key.Tenant, key.Run)
	return filepath.Join(s.dir, fmt.Sprintf("%02x", h[0]))
}

func (s *idleRuns) put(list map[RunKey]*Tally) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("store idle runs: %w", disk.MarkNoSpace(err))
	}
	s.any = true
	files := map[string]map[RunKey]*Tally{}
	for key, t := range list {
		name := s.file(key)
		if files[name] == nil {
			files[name] = map[RunKey]*Tally{}
		}
		files[name][key] = t
	}
	for name, part := range files {
		if err := s.append(name, change{Runs: byTenant(part)}); err != nil {
			return fmt.Errorf("store idle runs: %w", disk.MarkNoSpace(err))
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
		// The first newline ends an incomplete line that a crash may have left.
		_, err = f.Write(append([]byte("\n"), line...))
	}
	return errors.Join(err, f.Close())
}

func (s *idleRuns) get(key RunKey) (*Tally, error) {
	if !s.any {
		return nil, nil
	}
	data, err := os.ReadFile(s.file(key))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("look up idle run: %w", err)
	}
	name, err := json.Marshal(key.Run)
	if err != nil {
		return nil, fmt.Errorf("look up idle run: %w", err)
	}
	var found *Tally
	for line := range bytes.Lines(data) {
		if !bytes.Contains(line, name) {
			continue
		}
		if ch, ok := parseChange(line); ok && ch.Runs[key.Tenant][key.Run] != nil {
			found = ch.Runs[key.Tenant][key.Run]
		}
	}
	return found, nil
}

func (s *idleRuns) close() error {
	for name := range s.dirty {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("sync idle runs: %w", err)
		}
		if err := errors.Join(disk.Sync(f), f.Close()); err != nil {
			return fmt.Errorf("sync idle runs: %w", err)
		}
	}
	clear(s.dirty)
	return nil
}
