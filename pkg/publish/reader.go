package publish

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// readAhead is how much of a segment is read at once.
const readAhead = 256 << 10

// reader reads the records of a spool in order. It belongs to one goroutine.
type reader struct {
	spool *spool
	file  *os.File
	first uint64 // ordinal of the segment being read; 0 before the first one
	off   int64  // in the segment, of what comes next in buf
	end   int64  // of what was written to the segment when last asked
	buf   []byte // read and not yet handed out
	space []byte // backs buf
}

// reader returns a reader that begins with the segment that has the ordinal
// from. The records in front of it in that segment are read too.
func (s *spool) reader(from uint64) *reader {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &reader{spool: s}
	for _, seg := range s.segments {
		if r.first == 0 || seg.first <= from {
			r.first, r.end = seg.first, seg.size
		}
	}
	return r
}

// next returns the next item, and io.EOF at the present end of the spool; more
// may come later. The event of the item is valid until the following call.
func (r *reader) next() (item, error) {
	if len(r.buf) == 0 && r.off >= r.end && !r.advance() {
		return item{}, io.EOF
	}
	if err := r.fill(recordHeader); err != nil {
		return item{}, err
	}
	need := r.end - r.off // of what cannot be read: all there is
	if h, ok := parseHeader(r.buf); ok && int64(h.size()) <= need {
		need = int64(h.size())
	}
	if err := r.fill(need); err != nil {
		return item{}, err
	}
	it, err := scan(r.buf)
	if err != nil {
		return item{}, fmt.Errorf("read segment: %w", io.ErrUnexpectedEOF) // shorter than what was written
	}
	r.buf = r.buf[it.size:]
	r.off += int64(it.size)
	return it, nil
}

// advance looks for more: in the same segment, else in the one after it.
func (r *reader) advance() bool {
	r.spool.mu.Lock()
	defer r.spool.mu.Unlock()
	for _, seg := range r.spool.segments {
		if seg.first == r.first && seg.size > r.off {
			r.end = seg.size
			return true
		}
		if seg.first > r.first && seg.size > 0 {
			r.close()
			r.first, r.off, r.end, r.buf = seg.first, 0, seg.size, nil
			return true
		}
	}
	return false
}

// fill reads until buf holds n bytes, or all that was written.
func (r *reader) fill(n int64) error {
	n = min(n, r.end-r.off)
	if int64(len(r.buf)) >= n {
		return nil
	}
	if r.file == nil {
		f, err := os.Open(r.spool.path(r.first))
		if err != nil {
			return fmt.Errorf("read segment: %w", err)
		}
		r.file = f
	}
	size := min(max(n, readAhead), r.end-r.off)
	if int64(cap(r.space)) < size {
		r.space = make([]byte, size)
	}
	have := copy(r.space[:cap(r.space)], r.buf)
	r.buf = r.space[:size]
	got, err := r.file.ReadAt(r.buf[have:], r.off+int64(have))
	r.buf = r.buf[:have+got]
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read segment: %w", err)
	}
	return nil
}

// close lets go of the file that is open. The reader can go on.
func (r *reader) close() {
	if r.file != nil {
		_ = r.file.Close() // only read
		r.file = nil
	}
}
