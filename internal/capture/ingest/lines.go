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

// MaxLine limits the length of a line in bytes. Longer lines are reported and skipped.
const MaxLine = 64 << 20

// LineError reports an error in one line of the input.
type LineError struct {
	File   string
	Line   int // from 1
	Column int // in bytes, from 1; 0 for the whole line
	Reason string
	Kept   bool // the line still becomes events, after a repair or as a custom event

	cause error
}

func (e *LineError) Unwrap() error { return e.cause }

// Error returns "file:line:column: reason". It quotes no text of the line.
func (e *LineError) Error() string {
	if e.Column == 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Reason)
}

// Line is one line of input.
type Line struct {
	Number int    // from 1
	Text   []byte // without trailing white space; valid until the next line is read
}

// Lines yields the lines of an input that are not blank. It repairs and reports invalid UTF-8.
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
	torn   bool
}

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
		chunk, err := in.r.ReadSlice('\n')
		if tooLong = tooLong || len(in.buf)+len(chunk) > in.limit; !tooLong {
			in.buf = append(in.buf, chunk...)
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
