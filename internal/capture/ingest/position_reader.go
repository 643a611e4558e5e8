package ingest

import (
	"bufio"
	"bytes"
	"io"
)

type positionReader struct {
	r     *bufio.Reader
	taken func() int64 // returns the number of bytes in the values that were read
	limit int64
	read  int64

	ends  []int64 // the starts of the lines after the latest position
	line  int     // of the latest position
	start int64   // the start of that line
}

func newPositionReader(r io.Reader, limit int64) *positionReader {
	p := &positionReader{limit: limit, r: bufio.NewReaderSize(r, 64<<10), line: 1, taken: func() int64 { return 0 }}
	if mark, err := p.r.Peek(3); err == nil && string(mark) == "\uFEFF" {
		_, _ = p.r.Discard(3)
	}
	return p
}

// Read implements [io.Reader]. It returns errTooLong if one value exceeds the limit.
func (p *positionReader) Read(b []byte) (int, error) {
	if p.read-p.taken() > p.limit {
		return 0, errTooLong
	}
	n, err := p.r.Read(b)
	for unread := b[:n]; ; {
		i := bytes.IndexByte(unread, '\n')
		if i < 0 {
			break
		}
		unread = unread[i+1:]
		p.ends = append(p.ends, p.read+int64(n-len(unread)))
	}
	p.read += int64(n)
	return n, err
}

// position must be called with offsets that never decrease.
func (p *positionReader) position(offset int64) (line, column int) {
	for len(p.ends) > 0 && p.ends[0] <= offset {
		p.start, p.ends = p.ends[0], p.ends[1:]
		p.line++
	}
	return p.line, int(max(1, offset-p.start+1))
}
