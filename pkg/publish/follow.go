package publish

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// errShrunk says that a segment is shorter than what was known of it.
var errShrunk = errors.New("segment is shorter than it was")

// follow reads what other processes appended behind the end that is known, and
// calls visit for each item. It cuts off a record that was not written to its
// end. Nobody may append meanwhile.
func (s *spool) follow(visit func(item)) error {
	for {
		seg, appended := s.last()
		if seg.first > 0 {
			if err := s.followSegment(seg, visit); err != nil {
				return err
			}
			_, appended = s.last()
		}
		if seg.first == appended+1 {
			return nil // it is empty
		}
		_, err := os.Stat(s.path(appended + 1))
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list segments: %w", err)
		}
		s.enter(appended + 1)
	}
}

// enter makes the segment that another process began the last one.
func (s *spool) enter(first uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.segments = append(s.segments, segment{first: first})
	if s.tail == nil {
		return
	}
	if s.durable {
		// A sync of the present segment is to put all records on disk; see roll.
		if err := syncData(s.tail); err != nil {
			s.broken = fmt.Errorf("outbox stopped: sync segment: %w", err)
		}
	}
	_ = s.tail.Close() // nothing is buffered here
	s.tail = nil
}

// last returns the last segment, a zero one if there is none, and the ordinal of
// the last record.
func (s *spool) last() (segment, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.segments) == 0 {
		return segment{}, s.appended
	}
	return s.segments[len(s.segments)-1], s.appended
}

func (s *spool) followSegment(seg segment, visit func(item)) error {
	info, err := os.Stat(s.path(seg.first))
	if err != nil {
		return fmt.Errorf("follow segment: %w", err)
	}
	if info.Size() <= seg.size {
		if info.Size() < seg.size {
			return errShrunk
		}
		return nil
	}
	r := &reader{spool: s, first: seg.first, off: seg.size, end: info.Size()}
	defer r.close()
	for {
		it, err := r.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case it.fault == torn:
			// Its append had not returned.
			if err := os.Truncate(s.path(seg.first), r.off-int64(it.size)); err != nil {
				return fmt.Errorf("cut torn record: %w", err)
			}
			return nil
		}
		visit(it)
		s.grow(it)
	}
}

// grow takes in an item at the end.
func (s *spool) grow(it item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.segments[len(s.segments)-1].size += int64(it.size)
	s.appended = max(s.appended, it.ordinal)
}
