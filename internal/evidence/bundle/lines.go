package bundle

import (
	"bufio"
	"errors"
	"io"
)

// maxLineBytes is enough for the base64 of the largest record that a broker accepts.
const maxLineBytes = 96 << 20

var errLine = errors.New("a line without an end")

type lineReader struct {
	in   *bufio.Reader
	line []byte
}

func newLineReader(in io.Reader) *lineReader { return &lineReader{in: bufio.NewReaderSize(in, 64<<10)} }

// The returned line is only valid until the next call.
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
