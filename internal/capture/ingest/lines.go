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

// Line is one line of input.
type Line struct {
	Number int    // from 1
	Text   []byte // without white space at its end; valid until the next line is read
}

// Lines yields the lines of r that are not blank. Its errors are [*LineError]
// about lines that are too long or not UTF-8, which are repaired and yielded
// after the report; any other error ends the input.
func Lines(ctx context.Context, r io.Reader, opts Options) iter.Seq2[Line, error] {
	file := opts.File
	return func(yield func(Line, error) bool) {
		in := &lineReader{r: bufio.NewReaderSize(r, 64<<10), limit: MaxLine}
		for {
			if err := ctx.Err(); err != nil {
				yield(Line{}, err)
				return
			}
			l, err := in.next()
			switch {
			case errors.Is(err, io.EOF), opts.Open && in.torn && !json.Valid(l.Text):
				return
			case errors.Is(err, errTooLong):
				err = &LineError{File: file, Line: l.Number, Reason: fmt.Sprintf("longer than %d MiB", MaxLine>>20)}
			case err != nil:
				yield(Line{}, fmt.Errorf("read %s: %w", file, err))
				return
			case !utf8.Valid(l.Text):
				column := notUTF8(l.Text) + 1
				l.Text = bytes.ToValidUTF8(l.Text, []byte("\uFFFD"))
				if !yield(Line{}, &LineError{File: file, Line: l.Number, Column: column, Reason: "not UTF-8, repaired", Kept: true}) {
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
	torn   bool // the line has no end: the input ended in it
}

// next returns the next line that is not blank, errTooLong behind one that is
// longer than the limit, or io.EOF.
func (in *lineReader) next() (Line, error) {
	for {
		text, err := in.read()
		if in.number == 1 {
			text = bytes.TrimPrefix(text, []byte("\uFEFF"))
		}
		text = bytes.TrimRight(text, " \t\r\n")
		if err != nil || len(bytes.TrimLeft(text, " \t")) > 0 {
			return Line{Number: in.number, Text: text}, err
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
		in.torn = err != nil
		return in.buf, nil
	}
}
