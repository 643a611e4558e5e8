package segment

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

const readAhead = 256 << 10

// Reader reads the records of a log in order. Only one goroutine may use it.
type Reader struct {
	log   *Log
	file  *os.File
	first uint64 // ordinal of the first record of the open segment, or 0
	off   int64  // offset of buf in the segment
	end   int64  // known size of the segment
	buf   []byte // not returned yet
	space []byte // memory of buf
}

// Reader returns a reader that starts at the beginning of the segment with the record ordinal. The
// reader can therefore return earlier records of the same segment first.
func (l *Log) Reader(ordinal uint64) *Reader {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &Reader{log: l}
	for _, seg := range l.list {
		if r.first == 0 || seg.First <= ordinal {
			r.first, r.end = seg.First, seg.Size
		}
	}
	return r
}

// All yields the items of the log. It starts at the beginning of the segment that contains the
// record from, and stops at the end or at an error.
func (l *Log) All(from uint64) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		r := l.Reader(from)
		defer r.Close()
		for {
			it, err := r.Next()
			if errors.Is(err, io.EOF) || !yield(it, err) || err != nil {
				return
			}
		}
	}
}

// Next returns the next item, whose event the next call overwrites. At the end, it returns io.EOF.
func (r *Reader) Next() (Item, error) {
	if len(r.buf) == 0 && r.off >= r.end && !r.advance() {
		return Item{}, io.EOF
	}
	if err := r.fill(HeaderBytes); err != nil {
		return Item{}, err
	}
	need := r.end - r.off // with a damaged header, Scan needs the rest of the segment
	if h, ok := parseHeader(r.buf); ok && int64(h.size()) <= need {
		need = int64(h.size())
	}
	if err := r.fill(need); err != nil {
		return Item{}, err
	}
	it, err := Scan(r.buf)
	if err != nil {
		return Item{}, fmt.Errorf("read segment: %w", io.ErrUnexpectedEOF) // the file is shorter than its known size
	}
	r.buf = r.buf[it.Size:]
	r.off += int64(it.Size)
	return it, nil
}

// Again returns a second reader, whose first item is item. item must be the last item that r has
// returned.
func (r *Reader) Again(item Item) *Reader {
	return &Reader{log: r.log, first: r.first, off: r.off - int64(item.Size), end: r.end}
}

// Position returns where the last item ends. segment is the ordinal of the first record in its
// segment, and end is a byte offset in this segment.
func (r *Reader) Position() (segment uint64, end int64) { return r.first, r.off }

func (r *Reader) advance() bool {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	for _, seg := range r.log.list {
		if seg.First == r.first && seg.Size > r.off {
			r.end = seg.Size
			return true
		}
		if seg.First > r.first && seg.Size > 0 {
			r.Close()
			r.first, r.off, r.end, r.buf = seg.First, 0, seg.Size, nil
			return true
		}
	}
	return false
}

func (r *Reader) fill(n int64) error {
	n = min(n, r.end-r.off)
	if int64(len(r.buf)) >= n {
		return nil
	}
	if r.file == nil {
		f, err := os.Open(r.log.Dir.Path(r.first))
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

// Close closes the segment file that the reader has open. A later [Reader.Next] opens it again.
func (r *Reader) Close() {
	if r.file != nil {
		_ = r.file.Close() // only read
		r.file = nil
	}
}
