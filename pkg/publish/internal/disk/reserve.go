package disk

import (
	"errors"
	"fmt"
	"os"
)

// Reserve is the path of a file that only occupies disk space. If the disk is full, the file is
// deleted so that a new cursor file has room.
type Reserve string

const reserveBytes = 256 << 10

// Use deletes the file to free its space, and then calls do.
func (r Reserve) Use(do func() error) error {
	if err := os.Remove(string(r)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("free reserved space: %w", err)
	}
	return do()
}

// Refill creates the file again after [Reserve.Use].
func (r Reserve) Refill() error {
	f, err := Preallocate(string(r), reserveBytes)
	if err != nil {
		return fmt.Errorf("reserve space: %w", MarkNoSpace(err))
	}
	return f.Close()
}
