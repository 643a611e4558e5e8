package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
)

const (
	smallestStream = 64 << 20 // minimum size of the event stream in a new data directory
	otherStreams   = deadLetterBytes + advisoryBytes + checkpointBytes
)

// ErrDiskSmall means that the streams do not fit on the disk.
var ErrDiskSmall = errors.New("the disk is too small for the broker")

func storeLimit(dir string, requested int64) (int64, error) {
	free, err := diskFree(dir)
	if err != nil {
		return 0, err
	}
	used, err := folderSize(filepath.Join(dir, "jetstream"))
	if err != nil {
		return 0, err
	}
	room := (free + used) / 10 * 9
	if requested > room {
		return 0, fmt.Errorf("%w: %s requested, %s has space for %s; free some space, "+
			"choose another --data-dir, or request less", ErrDiskSmall, size(requested), dir, size(room))
	}
	if requested > 0 {
		room = requested
	}
	if used == 0 && room < smallestStream+otherStreams {
		return 0, fmt.Errorf("%w: %s has space for %s, at least %s are needed; free some space "+
			"or choose another --data-dir", ErrDiskSmall, dir, size(room), size(smallestStream+otherStreams))
	}
	return room, nil
}

func (e *embedded) limit(opts *StreamOptions, asked int64) error {
	room := e.maxStore - otherStreams - 1
	if asked > room && asked > 0 {
		return fmt.Errorf("%w: a stream of %s was requested, the store has space for %s; "+
			"free some space, choose another --data-dir, or request less", ErrDiskSmall, size(asked), size(room))
	}
	// Leave half of the space for the ledger and other databases, which store the same data.
	opts.DefaultBytes = min(DefaultStreamBytes, max(room/2, smallestStream))
	return nil
}

func diskFree(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:unconvert // 32 bits on other systems
}

func folderSize(dir string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("size of %s: %w", dir, err)
	}
	return sum, nil
}

func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d B", n)
}
