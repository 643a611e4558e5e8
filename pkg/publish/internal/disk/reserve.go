package disk

import (
	"errors"
	"fmt"
	"os"
)

// Reserve is a file that only occupies space. On a full disk, it makes room for a new cursor.
type Reserve string

const reserveBytes = 256 << 10

// Use frees the reserved space and then calls do.
func (r Reserve) Use(do func() error) error {
	if err := os.Remove(string(r)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("free reserved space: %w", err)
	}
	return do()
}

// Refill reserves the space again.
func (r Reserve) Refill() error {
	f, err := Preallocate(string(r), reserveBytes)
	if err != nil {
		return fmt.Errorf("reserve space: %w", MarkNoSpace(err))
	}
	return f.Close()
}
