package ingest

import (
	"bufio"
	"bytes"
	"io"
)

// located is a reader that knows in which line a byte of it is, and that stops
// when more was read than one value may have.
type located struct {
	r     *bufio.Reader
	taken func() int64 // how many bytes belong to values that were read
	limit int64        // of one value
	read  int64

	ends  []int64 // where the lines begin that were read and not asked for yet
	line  int     // of the latest byte that was asked for
	start int64   // where that line begins
}

// newLocated returns a reader of r without the mark of UTF-8 at its beginning.
func newLocated(r io.Reader, limit int64) *located {
	p := &located{limit: limit, r: bufio.NewReaderSize(r, 64<<10), line: 1, taken: func() int64 { return 0 }}
	if mark, err := p.r.Peek(3); err == nil && string(mark) == "\uFEFF" {
		_, _ = p.r.Discard(3) // it was just peeked at
	}
	return p
}

// Read reads on. Behind limit bytes of one value it returns errTooLong.
func (p *located) Read(b []byte) (int, error) {
	if p.read-p.taken() > p.limit {
		return 0, errTooLong
	}
	n, err := p.r.Read(b)
	for rest := b[:n]; ; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			break
		}
		rest = rest[i+1:]
		p.ends = append(p.ends, p.read+int64(n-len(rest)))
	}
	p.read += int64(n)
	return n, err
}

// place returns the line and the column of the byte at an offset, which is not
// before that of an earlier call.
func (p *located) place(offset int64) (line, column int) {
	for len(p.ends) > 0 && p.ends[0] <= offset {
		p.start, p.ends = p.ends[0], p.ends[1:]
		p.line++
	}
	return p.line, int(max(1, offset-p.start+1))
}
