package siem

import (
	"bufio"
	"context"
	"io"
	"os"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

type lines struct {
	*bufio.Writer

	file *os.File // nil if the sink is not a file
}

// Lines returns a function that opens a sink, which writes lines to w.
func Lines(w io.Writer) func(context.Context) (Sink, error) {
	return func(context.Context) (Sink, error) { return lines{bufio.NewWriter(w), nil}, nil }
}

// File returns a function that opens a sink, which appends lines to the file at path. A new file is
// private.
func File(path string) func(context.Context) (Sink, error) {
	return func(context.Context) (Sink, error) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return nil, err
		}
		return lines{bufio.NewWriter(f), f}, nil
	}
}

// Send implements [Sink].
func (l lines) Send(_ ledger.Entry, line []byte) error {
	_, err := l.Write(append(line, '\n'))
	return err
}

// Flush implements [Sink].
func (l lines) Flush(context.Context) error {
	err := l.Writer.Flush()
	if err == nil && l.file != nil {
		err = l.file.Sync()
	}
	return err
}

// Close implements [Sink].
func (l lines) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
