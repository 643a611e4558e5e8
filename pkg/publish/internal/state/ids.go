package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
)

// IDs is the set of ids of published events. A nil *IDs is empty. IDs is safe for concurrent use.
//
// Only the ids of acknowledged events are written to the file, because the segments contain the
// other events. When the file is full, it replaces the previous file, whose ids are forgotten.
type IDs struct {
	dir   string
	limit int // 0 keeps all ids

	// mu guards all fields below.
	mu       sync.Mutex
	current  map[segment.IDHash]struct{}
	previous map[segment.IDHash]struct{} // ids in the rotated file
	file     *os.File
	size     int64
	unsaved  []byte // hashes of acknowledged events, not in the file yet
}

// The files of IDs.
const (
	IDsName         = "ids"
	PreviousIDsName = "ids.old"
)

// OpenIDs opens or creates the files in dir.
func OpenIDs(dir string, limit int) (*IDs, error) {
	s := &IDs{dir: dir, limit: limit, previous: map[segment.IDHash]struct{}{}}
	old, err := os.ReadFile(s.path(PreviousIDsName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read ids: %w", err)
	}
	readIDs(s.previous, old)
	if s.file, err = os.OpenFile(s.path(IDsName), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, fmt.Errorf("open ids: %w", err)
	}
	data, err := io.ReadAll(s.file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read ids: %w", err), s.file.Close())
	}
	s.current = make(map[segment.IDHash]struct{}, len(data)/len(segment.IDHash{}))
	s.size = readIDs(s.current, data)
	return s, nil
}

func readIDs(set map[segment.IDHash]struct{}, data []byte) (size int64) {
	const length = len(segment.IDHash{})
	for ; len(data) >= length; data = data[length:] {
		set[segment.IDHash(data)] = struct{}{}
		size += int64(length)
	}
	return size
}

func (s *IDs) path(name string) string { return filepath.Join(s.dir, name) }

// Has reports whether an event with this id was published before. IDs that were forgotten do not
// count.
func (s *IDs) Has(id segment.IDHash) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, isCurrent := s.current[id]
	_, isPrevious := s.previous[id]
	return isCurrent || isPrevious
}

// Add adds an id in memory only.
func (s *IDs) Add(id segment.IDHash) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current[id] = struct{}{}
}

// Save appends the ids of acknowledged events to the file. If the write fails, the next call
// writes them again.
func (s *IDs) Save(acknowledged []segment.IDHash) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range acknowledged {
		s.unsaved = append(s.unsaved, id[:]...)
	}
	return s.save()
}

func (s *IDs) save() error {
	if len(s.unsaved) == 0 {
		return nil
	}
	if _, err := s.file.WriteAt(s.unsaved, s.size); err != nil {
		return fmt.Errorf("write ids: %w", disk.MarkNoSpace(err))
	}
	s.size += int64(len(s.unsaved))
	s.unsaved = s.unsaved[:0]
	if s.limit > 0 && s.size/int64(len(segment.IDHash{})) >= int64(s.limit) {
		return s.rotate()
	}
	return nil
}

func (s *IDs) rotate() error {
	if err := disk.Sync(s.file); err != nil {
		return fmt.Errorf("sync ids: %w", err)
	}
	if err := os.Rename(s.path(IDsName), s.path(PreviousIDsName)); err != nil {
		return fmt.Errorf("rotate ids: %w", err)
	}
	// Keep the old file until the new one exists, because no id may be lost if the disk is full.
	f, err := os.OpenFile(s.path(IDsName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return errors.Join(fmt.Errorf("open ids: %w", disk.MarkNoSpace(err)), os.Rename(s.path(PreviousIDsName), s.path(IDsName)))
	}
	err = s.file.Close()
	s.file, s.size = f, 0
	s.previous, s.current = s.current, map[segment.IDHash]struct{}{}
	return err
}

// Sync syncs the saved ids to disk. It must not run concurrently with Save.
func (s *IDs) Sync() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	file := s.file
	s.mu.Unlock()
	return disk.Sync(file) // not locked, so that Append does not wait
}

// Close saves, syncs and closes the file.
func (s *IDs) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.save(), disk.Sync(s.file), s.file.Close())
}
