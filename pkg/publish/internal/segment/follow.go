package segment

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
)

// ErrShrunk means that a segment has become shorter since the last read.
var ErrShrunk = errors.New("segment is shorter than it was")

// Visit receives an item and the ordinal of the first record in the item's segment.
type Visit func(segment uint64, it Item)

// Follow calls visit for each item that other processes have appended since the last call. No
// process may append while Follow runs.
func Follow(l *Log, visit Visit) error {
	for {
		seg, end := l.Last()
		if seg.First > 0 {
			if err := followSegment(l, seg, visit); err != nil {
				return err
			}
			_, end = l.Last()
		}
		if seg.First == end+1 {
			return nil // the segment is empty
		}
		_, err := os.Stat(l.Dir.Path(end + 1))
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list segments: %w", err)
		}
		l.enter(end + 1)
	}
}

// FollowAll opens the log in dir and calls visit for each item. It may skip items up to the
// ordinal sent, because the stream already has them.
func FollowAll(dir string, opts Options, sent uint64, visit Visit) (*Log, error) {
	l, err := Open(dir, opts)
	if err != nil {
		return nil, err
	}
	list := l.list
	l.list, l.end = nil, sent
	for _, seg := range list {
		if last, _ := l.Last(); last.First >= seg.First {
			continue // Follow has already read this segment
		}
		l.list = append(l.list, Segment{First: seg.First})
		l.end = max(l.end, seg.First-1)
		if err := Follow(l, visit); err != nil && !errors.Is(err, os.ErrNotExist) {
			return l, err
		}
	}
	return l, nil
}

func followSegment(l *Log, seg Segment, visit Visit) error {
	info, err := os.Stat(l.Dir.Path(seg.First))
	if err != nil {
		return fmt.Errorf("follow segment: %w", err)
	}
	if info.Size() <= seg.Size {
		if info.Size() < seg.Size {
			return ErrShrunk
		}
		return nil
	}
	r := &Reader{log: l, first: seg.First, off: seg.Size, end: info.Size()}
	defer r.Close()
	for {
		it, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case it.Fault == Torn:
			if err := os.Truncate(l.Dir.Path(seg.First), r.off-int64(it.Size)); err != nil {
				return fmt.Errorf("cut torn record: %w", err)
			}
			return nil
		}
		visit(seg.First, it)
		l.grow(it)
	}
}

func (l *Log) enter(first uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, Segment{First: first})
	if l.tail == nil {
		return
	}
	if l.opts.Sync {
		// Sync the previous segment, because later syncs cover only the last segment. The method
		// roll does the same.
		if err := disk.Sync(l.tail); err != nil {
			l.broken = fmt.Errorf("outbox stopped: sync segment: %w", err)
		}
	}
	_ = l.tail.Close() // nothing is buffered in this process
	l.tail = nil
}

func (l *Log) grow(it Item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list[len(l.list)-1].Size += int64(it.Size)
	l.end = max(l.end, it.Ordinal)
}
