package segment

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
)

// Options are the settings of a Log.
type Options struct {
	MaxBytes int64 // size at which a segment is full
	Sync     bool  // sync each segment to disk before the next one begins
	Resume   bool  // append to the last segment, even of another process
}

// Log appends records to segment files. One goroutine may append at a time. Readers and Sync may
// run concurrently.
type Log struct {
	Dir  Dir
	opts Options

	commit commit

	// mu guards list, tail, end, broken and opts.Sync. It stays locked during writes, so that
	// readers see only complete records. Lock commit.mu before mu.
	mu     sync.Mutex
	list   []Segment // ascending
	tail   *os.File  // nil until the first append
	end    uint64
	broken error // error of a failed truncation or sync, which all later writes return
}

// Open opens the log in dir. Read its records and then call [Log.SetEnd].
func Open(dir string, opts Options) (*Log, error) {
	l := &Log{Dir: Dir(dir), opts: opts}
	var err error
	l.list, err = l.Dir.list()
	return l, err
}

// OpenAt returns the log in dir without reading the directory. last is the last segment, or zero
// if the log has none, and end is the ordinal of the last record.
func OpenAt(dir string, opts Options, last Segment, end uint64) *Log {
	l := &Log{Dir: Dir(dir), opts: opts, end: end}
	if last.First > 0 {
		l.list = []Segment{last}
	}
	return l
}

// Append appends complete records in one write, or none if it fails. end is the last ordinal in
// buf.
func (l *Log) Append(buf []byte, end uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return l.broken
	}
	if err := l.openTail(); err != nil {
		return err
	}
	seg := &l.list[len(l.list)-1]
	if _, err := l.tail.WriteAt(buf, seg.Size); err != nil {
		return l.undo(seg, err)
	}
	seg.Size += int64(len(buf))
	l.end = end
	return nil
}

// The caller of openTail must hold l.mu.
func (l *Log) openTail() error {
	n := len(l.list)
	switch {
	case n == 0 || l.list[n-1].Size >= l.opts.MaxBytes || l.tail == nil && !l.opts.Resume:
		return l.roll()
	case l.tail != nil:
		return nil
	}
	f, err := os.OpenFile(l.Dir.Path(l.list[n-1].First), os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open segment: %w", err)
	}
	l.tail = f
	return nil
}

// The caller of undo must hold l.mu.
func (l *Log) undo(seg *Segment, cause error) error {
	if err := l.tail.Truncate(seg.Size); err != nil {
		l.broken = fmt.Errorf("outbox stopped: %w", errors.Join(cause, err))
		return l.broken
	}
	return fmt.Errorf("write segment: %w", disk.MarkNoSpace(cause))
}

// roll syncs the previous segment, so that later a sync of the last one is enough. The caller must
// hold l.mu.
func (l *Log) roll() error {
	if l.tail != nil && l.opts.Sync {
		if err := disk.Sync(l.tail); err != nil {
			l.broken = fmt.Errorf("outbox stopped: sync segment: %w", err)
			return l.broken
		}
	}
	first := l.end + 1
	f, err := os.OpenFile(l.Dir.Path(first), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("new segment: %w", disk.MarkNoSpace(err))
	}
	if err := l.Dir.Sync(); err != nil {
		return errors.Join(fmt.Errorf("new segment: %w", disk.MarkNoSpace(err)), f.Close())
	}
	if l.tail != nil {
		_ = l.tail.Close() // nothing is buffered in this process
	}
	if n := len(l.list); n > 0 && l.list[n-1].First == first {
		l.list = l.list[:n-1] // the last segment is empty, and the new one has the same file name
	}
	l.tail = f
	l.list = append(l.list, Segment{First: first})
	return nil
}

// End returns the ordinal of the last record.
func (l *Log) End() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Last returns the last segment, or a zero Segment if there is none, and the ordinal of the last
// record.
func (l *Log) Last() (Segment, uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == 0 {
		return Segment{}, l.end
	}
	return l.list[len(l.list)-1], l.end
}

// First returns the ordinal of the first record in the log, or 0 if the log has no segment.
func (l *Log) First() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == 0 {
		return 0
	}
	return l.list[0].First
}

// Bytes returns the size of all segments.
func (l *Log) Bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := int64(0)
	for _, seg := range l.list {
		n += seg.Size
	}
	return n
}

// SetEnd tells the log the ordinal of its last record, which Open does not read.
func (l *Log) SetEnd(end uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end = end
}

// SetSync changes Options.Sync.
func (l *Log) SetSync(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opts.Sync = on
}

// Truncate shortens a segment to size bytes. first is the ordinal of its first record.
func (l *Log) Truncate(first uint64, size int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := os.Truncate(l.Dir.Path(first), size); err != nil {
		return err
	}
	for i := range l.list {
		if l.list[i].First == first {
			l.list[i].Size = size
		}
	}
	return nil
}

// Drop removes segments whose records all have ordinals below limit.
func (l *Log) Drop(limit uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.list) > 1 && l.list[1].First <= limit {
		if err := os.Remove(l.Dir.Path(l.list[0].First)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove segment: %w", err)
		}
		l.list = l.list[1:]
	}
	return nil
}

// CanDrop reports whether [Log.Drop] would remove a segment.
func (l *Log) CanDrop(before uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.list) > 1 && l.list[1].First <= before
}

// HasOnly reports whether the log has records and all of them have ordinals below limit.
func (l *Log) HasOnly(limit uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.list)
	return l.broken == nil && l.end < limit && (n > 1 || n == 1 && l.list[0].Size > 0)
}

// Clear begins a new segment and removes all others.
func (l *Log) Clear() error {
	l.mu.Lock()
	err := l.roll()
	first := l.end + 1
	l.mu.Unlock()
	if err != nil {
		return err
	}
	return l.Drop(first)
}

// Release closes the open segment without a sync. The next Append opens it again.
func (l *Log) Release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tail == nil {
		return nil
	}
	err := l.tail.Close()
	l.tail = nil
	return err
}

// Close syncs and closes the open segment.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tail == nil {
		return nil
	}
	err := errors.Join(disk.Sync(l.tail), l.tail.Close())
	l.tail = nil
	return err
}
