package disk

import (
	"errors"
	"fmt"
	"os"
)

// Reserve is the path of a file that reserves space. On a full disk an outbox
// frees it to write its cursor. Without a new cursor it could not remove a
// segment, and the disk would stay full.
type Reserve string

const reserveBytes = 256 << 10

// Use frees the reserved space and then calls do.
func (r Reserve) Use(do func() error) error {
	if err := os.Remove(string(r)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("free reserved space: %w", err)
	}
	return do()
}

// Refill reserves the space again if it was used.
func (r Reserve) Refill() error {
	f, err := Preallocate(string(r), reserveBytes)
	if err != nil {
		return fmt.Errorf("reserve space: %w", MarkNoSpace(err))
	}
	return f.Close()
}
