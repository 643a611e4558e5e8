package publish

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// errNoRoom is wrapped by append when the disk, or the user's part of it, is
// full. Nothing was written then.
var errNoRoom = errors.New("no room on disk")

const segmentSuffix = ".seg"

// segment is one file of a spool.
type segment struct {
	first uint64 // ordinal of its first record, and its name
	size  int64  // bytes of whole records
}

// spool keeps records in files, in the order in which they were appended. One
// goroutine at a time appends; any number of readers follow.
type spool struct {
	dir          string
	segmentBytes int64
	durable      bool // segments are synced before the next one begins
	resume       bool // the last segment is written on, by whomever it was begun

	mu       sync.Mutex // guards what follows; held during writes, so that they are in order
	segments []segment  // ascending, the last one is appended to
	tail     *os.File   // of the last segment; nil until the first append
	appended uint64     // ordinal of the last record
	broken   error      // what made it impossible to tell how a file ends

	syncing sync.Mutex // held during a sync: callers that wait for it find their record synced
	synced  uint64     // ordinal up to which records are on disk; guarded by syncing
}

func newSpool(dir string, opts Options) *spool {
	return &spool{dir: dir, segmentBytes: opts.SegmentBytes, durable: opts.Durability == DiskDurability, resume: opts.shared}
}

// openSpool opens the segments of dir. It does not read them; [spool.recover]
// does.
func openSpool(dir string, opts Options) (*spool, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list segments: %w", err)
	}
	s := newSpool(dir, opts)
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), segmentSuffix)
		first, err := strconv.ParseUint(name, 10, 64)
		if !ok || err != nil {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			return nil, fmt.Errorf("list segments: %w", err)
		}
		s.segments = append(s.segments, segment{first: first, size: info.Size()})
	}
	slices.SortFunc(s.segments, func(a, b segment) int {
		if a.first < b.first {
			return -1
		}
		return 1
	})
	return s, nil
}

func (s *spool) path(first uint64) string {
	return filepath.Join(s.dir, fmt.Sprintf("%020d%s", first, segmentSuffix))
}

// append writes buf, whole records of which the last one has the ordinal last,
// with one write. On an error nothing was appended.
func (s *spool) append(buf []byte, last uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return s.broken
	}
	if err := s.openTail(); err != nil {
		return err
	}
	seg := &s.segments[len(s.segments)-1]
	if _, err := s.tail.WriteAt(buf, seg.size); err != nil {
		return s.undo(seg, err)
	}
	seg.size += int64(len(buf))
	s.appended = last
	return nil
}

// openTail makes s.tail the segment that is written to next. s.mu is held.
func (s *spool) openTail() error {
	n := len(s.segments)
	switch {
	case n == 0 || s.segments[n-1].size >= s.segmentBytes || s.tail == nil && !s.resume:
		return s.roll()
	case s.tail != nil:
		return nil
	}
	f, err := os.OpenFile(s.path(s.segments[n-1].first), os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open segment: %w", err)
	}
	s.tail = f
	return nil
}

// undo takes back what a failed write left.
func (s *spool) undo(seg *segment, cause error) error {
	if err := s.tail.Truncate(seg.size); err != nil {
		s.broken = fmt.Errorf("outbox stopped: %w", errors.Join(cause, err))
		return s.broken
	}
	return fmt.Errorf("write segment: %w", asNoRoom(cause))
}

// asNoRoom marks the errors that a full disk causes.
func asNoRoom(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("%w: %w", errNoRoom, err)
	}
	return err
}

// roll begins a new segment. A durable spool syncs the one before first, so
// that a sync of the present segment puts all records on disk.
func (s *spool) roll() error {
	if s.tail != nil && s.durable {
		if err := syncData(s.tail); err != nil {
			s.broken = fmt.Errorf("outbox stopped: sync segment: %w", err)
			return s.broken
		}
	}
	first := s.appended + 1
	f, err := os.OpenFile(s.path(first), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("new segment: %w", asNoRoom(err))
	}
	if err := syncDir(s.dir); err != nil {
		return errors.Join(fmt.Errorf("new segment: %w", asNoRoom(err)), f.Close())
	}
	if s.tail != nil {
		_ = s.tail.Close() // a local file that was written to with write(2): nothing is buffered here
	}
	if n := len(s.segments); n > 0 && s.segments[n-1].first == first {
		s.segments = s.segments[:n-1] // the same file, empty
	}
	s.tail = f
	s.segments = append(s.segments, segment{first: first})
	return nil
}

// sync returns when the records up to the ordinal are on disk. Concurrent
// callers share one sync.
func (s *spool) sync(ordinal uint64) error {
	s.syncing.Lock()
	defer s.syncing.Unlock()
	if s.synced >= ordinal {
		return nil
	}
	s.mu.Lock()
	tail, appended, err := s.tail, s.appended, s.broken
	s.mu.Unlock()
	if err != nil || tail == nil {
		return err
	}
	if err := syncData(tail); err != nil && !errors.Is(err, os.ErrClosed) {
		// What the kernel could not write it may have dropped: nobody can tell
		// any more what is on disk.
		s.mu.Lock()
		defer s.mu.Unlock()
		s.broken = fmt.Errorf("outbox stopped: sync segment: %w", err)
		return s.broken
	}
	s.synced = appended
	return nil
}

// drop removes the segments that have only records before the ordinal.
func (s *spool) drop(before uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.segments) > 1 && s.segments[1].first <= before {
		if err := os.Remove(s.path(s.segments[0].first)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove segment: %w", err)
		}
		s.segments = s.segments[1:]
	}
	return nil
}

// droppable tells whether drop would remove a segment.
func (s *spool) droppable(before uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.segments) > 1 && s.segments[1].first <= before
}

// end returns the ordinal of the last record.
func (s *spool) end() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.appended
}

// letGo closes the segment that is appended to.
func (s *spool) letGo() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tail == nil {
		return nil
	}
	err := s.tail.Close()
	s.tail = nil
	return err
}

// close syncs and closes the segment that is appended to.
func (s *spool) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tail == nil {
		return nil
	}
	err := errors.Join(syncData(s.tail), s.tail.Close())
	s.tail = nil
	return err
}

// syncAll puts all segments on disk, whoever wrote them.
func (s *spool) syncAll() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, seg := range s.segments {
		f, err := os.OpenFile(s.path(seg.first), os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("sync segments: %w", err)
		}
		if err := errors.Join(syncData(f), f.Close()); err != nil {
			return fmt.Errorf("sync segments: %w", err)
		}
	}
	return syncDir(s.dir)
}
