package bundle

import (
	"bufio"
	"errors"
	"io"
)

// maxLineBytes is the longest line that is read: a record of the size that a
// broker can be made to take, in base64, with room to spare.
const maxLineBytes = 96 << 20

// errLine is returned for a file that does not end with a line's end, or has a
// line that no writer makes.
var errLine = errors.New("a line without an end")

// lineReader reads lines one by one.
type lineReader struct {
	in   *bufio.Reader
	line []byte
}

func newLineReader(in io.Reader) *lineReader { return &lineReader{in: bufio.NewReaderSize(in, 64<<10)} }

// next returns the next line without its end, valid until the next call, and
// whether there is one.
func (l *lineReader) next() (line []byte, ok bool, err error) {
	l.line = l.line[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		l.line = append(l.line, part...)
		switch {
		case err == nil:
			return l.line[:len(l.line)-1], true, nil
		case errors.Is(err, io.EOF) && len(l.line) == 0:
			return nil, false, nil
		case errors.Is(err, io.EOF) || len(l.line) > maxLineBytes:
			return nil, false, errLine
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, err
		}
	}
}
