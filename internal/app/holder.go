package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/internal/platform/filelock"
)

type holder struct {
	Process int    `json:"process"`
	HTTP    string `json:"http"`
}

const (
	holdLock = "up.lock"
	holdFile = "up.json"
)

func hold(dir string) (*filelock.Lock, error) {
	lock, err := filelock.Try(filepath.Join(dir, holdLock))
	if !errors.Is(err, filelock.ErrHeld) {
		return lock, err
	}
	by := "another process"
	var h holder
	data, err := os.ReadFile(filepath.Join(dir, holdFile))
	if err == nil && json.Unmarshal(data, &h) == nil {
		by = fmt.Sprintf("process %d at %s", h.Process, h.HTTP)
	}
	return nil, fmt.Errorf("data directory %s: %s already serves it; stop that process, or use another --data-dir", dir, by)
}

func (h holder) tell(dir string) error {
	data, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("addresses: %w", err)
	}
	if err := atomicfile.Write(filepath.Join(dir, holdFile), append(data, '\n')); err != nil {
		return fmt.Errorf("addresses: %w", err)
	}
	return nil
}
