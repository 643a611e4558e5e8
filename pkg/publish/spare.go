package publish

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// spare is a file that takes up room so that, on a full disk, progress can
// still be noted: without that no segment could be dropped, and the disk would
// stay full.
type spare struct{ dir string } // of the outbox

const spareBytes = 256 << 10

func openSpare(dir string) spare {
	s := spare{dir}
	_ = s.refill() // an outbox on a full disk opens without
	return s
}

func (s spare) path() string { return filepath.Join(s.dir, "spare") }

// use gives up the room for what do has to write.
func (s spare) use(do func() error) error {
	if err := os.Remove(s.path()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("use spare room: %w", err)
	}
	return do()
}

// refill takes up the room again.
func (s spare) refill() error {
	f, err := preallocate(s.path(), spareBytes)
	if err != nil {
		return fmt.Errorf("keep spare room: %w", asNoRoom(err))
	}
	return f.Close()
}
