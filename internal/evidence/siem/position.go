package siem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
)

type position struct {
	Leaf   int64  `json:"leaf"` // -1 before the first record
	SHA256 string `json:"sha256,omitempty"`
}

func readPosition(path string) (position, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return position{Leaf: -1}, nil
	}
	at := position{Leaf: -1}
	if err == nil {
		err = json.Unmarshal(data, &at)
	}
	if err == nil && at.Leaf < 0 {
		err = errors.New("it names no leaf")
	}
	if err != nil {
		return at, fmt.Errorf("position %s: %w", path, err)
	}
	return at, nil
}

func (p position) write(path string) error {
	data, err := json.Marshal(p)
	if err == nil {
		err = atomicfile.Write(path, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("position: %w", err)
	}
	return nil
}

func (p position) check(ctx context.Context, r *ledger.Reader) error {
	if p.Leaf < 0 {
		return nil
	}
	for e, err := range r.After(ctx, p.Leaf-1) {
		if err != nil {
			return err
		}
		if e.Leaf != p.Leaf || e.Hash.String() != p.SHA256 {
			break
		}
		return nil
	}
	return ErrOther
}
