package tracker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/hooktrail/hooktrail/internal/cli"
	"github.com/hooktrail/hooktrail/internal/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// stdinPath is what stands for the standard input.
const stdinPath = "-"

// maxFaults bounds how many bad lines are told. All are counted.
const maxFaults = 100

// faults are the lines of an input that are no events.
type faults struct {
	count int
	lines []string // the first of them: file:line:column: reason
}

// add notes err if it is about one line, so that the rest can go on.
func (f *faults) add(err error) bool {
	line, ok := errors.AsType[*ingest.LineError](err)
	if !ok {
		return false
	}
	f.note(line.Error())
	return true
}

func (f *faults) note(text string) {
	if f.count++; len(f.lines) < maxFaults {
		f.lines = append(f.lines, text)
	}
}

// err returns an error that tells all faults, nil if there are none.
func (f *faults) err() error {
	if f.count == 0 {
		return nil
	}
	text := strings.Join(f.lines, "\n")
	if more := f.count - len(f.lines); more > 0 {
		text += fmt.Sprintf("\n… and %d more", more)
	}
	if f.count == 1 {
		return fmt.Errorf("a line is no event as it is, all others were taken:\n%s", text)
	}
	return fmt.Errorf("%d lines are no events as they are, all others were taken:\n%s", f.count, text)
}

// history is a sequence of events in the order in which they came.
type history iter.Seq2[events.Event, error]

// ofTenant leaves out the events of others; that of nobody means everybody's.
func (h history) ofTenant(tenant string) history {
	if tenant == "" {
		return h
	}
	return func(yield func(events.Event, error) bool) {
		for e, err := range h {
			if err == nil && e.Tenant != tenant {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// input is a file of CloudEvents that is open, or the standard input.
type input struct {
	name string
	r    io.ReadCloser
	size uint64 // bytes; 0 where nobody knows
	read uint64 // of them
}

// openInput opens the file at path, or takes stdin for "-". The end of ctx ends
// the reading, of a pipe too.
func openInput(ctx context.Context, path string, stdin io.Reader) (*input, error) {
	if path == stdinPath {
		return &input{name: "stdin", r: interruptible(ctx, stdin)}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = fmt.Errorf("%s is a folder, want a file of CloudEvents", path)
	case info.Mode().IsRegular():
		return &input{name: path, r: f, size: uint64(info.Size())}, nil
	default:
		return &input{name: path, r: interruptible(ctx, f)}, nil
	}
	return nil, fmt.Errorf("read events: %w", errors.Join(err, f.Close()))
}

// interruptible returns r as a reader that fails once ctx has ended. A read that
// is under way then cannot be interrupted: its goroutine ends with what it reads
// from, or with the process.
func interruptible(ctx context.Context, r io.Reader) io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		_, err := io.Copy(in, r)
		in.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	return out
}

// Read implements [io.Reader].
func (in *input) Read(p []byte) (int, error) {
	n, err := in.r.Read(p)
	in.read += uint64(n)
	return n, err
}

// Close closes what was opened.
func (in *input) Close() error { return in.r.Close() }

// events returns the events of the input, one per line. Those without a tenant
// get that one. The records that outboxes write about their own numbering are
// events of a history too.
func (in *input) events(ctx context.Context, tenant string, bar *cli.Progress) history {
	return func(yield func(events.Event, error) bool) {
		list := ingest.CloudEvents(ctx, in, ingest.Options{File: in.name, Tenant: tenant, Records: true})
		n := uint64(0)
		for e, err := range list {
			if !yield(e, err) {
				return
			}
			if n++; in.size > 0 {
				bar.Set(in.read, in.size)
			} else {
				bar.Set(n, 0)
			}
		}
	}
}
