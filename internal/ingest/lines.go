package ingest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"
)

// MaxLine is the length of the longest line that is read. Longer ones are
// reported and skipped.
const MaxLine = 64 << 20

// LineError says what is wrong with one line of the input.
type LineError struct {
	File   string
	Line   int // from 1
	Column int // in bytes, from 1; 0 when the whole line is meant
	Reason string
	Kept   bool // events of the line follow all the same: repaired, or as a custom event

	cause error
}

// Unwrap returns what was wrong with the line, if an error says so.
func (e *LineError) Unwrap() error { return e.cause }

// Error returns "file:line:column: reason". It holds no text of the line.
func (e *LineError) Error() string {
	if e.Column == 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Reason)
}

// line is one line of input.
type line struct {
	number int
	text   []byte // without its end; valid until the next line is read
}

// readLines yields the lines of r that are not blank. It reports lines that are
// too long or not UTF-8; the latter are repaired and yielded after the report.
func readLines(ctx context.Context, r io.Reader, file string) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		in := &lineReader{r: bufio.NewReaderSize(r, 64<<10), limit: MaxLine}
		for {
			if err := ctx.Err(); err != nil {
				yield(line{}, err)
				return
			}
			l, err := in.next()
			switch {
			case errors.Is(err, io.EOF):
				return
			case errors.Is(err, errTooLong):
				err = &LineError{File: file, Line: l.number, Reason: fmt.Sprintf("longer than %d MiB", MaxLine>>20)}
			case err != nil:
				yield(line{}, fmt.Errorf("read %s: %w", file, err))
				return
			case !utf8.Valid(l.text):
				column := notUTF8(l.text) + 1
				l.text = bytes.ToValidUTF8(l.text, []byte("\uFFFD"))
				if !yield(line{}, &LineError{File: file, Line: l.number, Column: column, Reason: "not UTF-8, repaired", Kept: true}) {
					return
				}
			}
			if !yield(l, err) {
				return
			}
		}
	}
}

// notUTF8 returns where text stops to be UTF-8.
func notUTF8(text []byte) int {
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRune(text[i:])
		if c == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return len(text)
}

var errTooLong = errors.New("line too long")

type lineReader struct {
	r      *bufio.Reader
	buf    []byte
	number int
	limit  int
}

// next returns the next line that is not blank, errTooLong behind one that is
// longer than the limit, or io.EOF.
func (in *lineReader) next() (line, error) {
	for {
		text, err := in.read()
		if in.number == 1 {
			text = bytes.TrimPrefix(text, []byte("\uFEFF"))
		}
		text = bytes.TrimRight(text, " \t\r\n")
		if err != nil || len(bytes.TrimLeft(text, " \t")) > 0 {
			return line{number: in.number, text: text}, err
		}
	}
}

func (in *lineReader) read() ([]byte, error) {
	in.number++
	if cap(in.buf) > 4<<20 {
		in.buf = nil
	}
	in.buf = in.buf[:0]
	tooLong := false
	for {
		part, err := in.r.ReadSlice('\n')
		if tooLong = tooLong || len(in.buf)+len(part) > in.limit; !tooLong {
			in.buf = append(in.buf, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(in.buf) == 0 && !tooLong):
			return nil, err
		case tooLong:
			return nil, errTooLong
		}
		return in.buf, nil
	}
}

// jsonError returns the report on text, which is not the JSON that was expected
// of it. It names places and kinds, and holds no text of the line.
func jsonError(file string, l line, err error) *LineError {
	report := &LineError{File: file, Line: l.number, Reason: "not JSON"}
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	var shape shapeError
	switch {
	case errors.As(err, &shape):
		report.Reason = shape.Error()
	case bytes.IndexByte(l.text, 0) >= 0:
		report.Column = bytes.IndexByte(l.text, 0) + 1
		report.Reason = "not JSON: NUL byte"
	case errors.As(err, &syntax) && strings.Contains(err.Error(), "after top-level value"):
		report.Column = int(syntax.Offset)
		report.Reason = "not JSON: more text after the value"
	case errors.As(err, &syntax) && strings.Contains(err.Error(), "exceeded max depth"):
		report.Column = int(syntax.Offset)
		report.Reason = "nested too deep"
	case errors.As(err, &syntax) && strings.Contains(err.Error(), "unexpected end"):
		report.Column = len(l.text)
		report.Reason = "not JSON: the line ends early"
	case errors.As(err, &syntax):
		report.Column = int(syntax.Offset)
		report.Reason = "not JSON: unexpected character"
	case errors.As(err, &mismatch):
		kind, _, _ := strings.Cut(mismatch.Value, " ")
		report.Column = int(mismatch.Offset)
		report.Reason = fmt.Sprintf("%s: unexpected %s", mismatch.Field, kind)
	}
	return report
}
