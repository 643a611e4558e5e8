package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// stdinPath is what stands for the standard input.
const stdinPath = "-"

// Input is a file of CloudEvents, one per line, in the order in which they are to
// arrive.
type Input struct {
	Path   string    // "-" is Stdin
	Stdin  io.Reader // the end of the context ends its reading
	Tenant string    // of events that name none
	Only   string    // events of other tenants are left out; empty: of none
	Bar    *cli.Progress

	// Seen is called with each event that is folded, before it is; nil asks nobody.
	Seen func(events.Event)
}

// Fold folds the file with each of several replays at once, releases what is held
// at its end, and returns the lines that were no events: the others were folded.
func (in Input) Fold(ctx context.Context, replays ...*Replay) (bad Faults, err error) {
	l, err := openLines(ctx, in.Path, in.Stdin)
	if err != nil {
		return bad, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	defer in.Bar.Finish()
	return fold(l.events(ctx, in.Tenant, in.Bar).ofTenant(in.Only).seen(in.Seen), true, l.name, replays...)
}

// lines are an input that is open.
type lines struct {
	name string
	r    io.ReadCloser
	size uint64 // bytes; 0 where nobody knows
	read uint64 // of them
}

// openLines opens the file at path, or takes stdin for "-". The end of ctx ends
// the reading, of a pipe too.
func openLines(ctx context.Context, path string, stdin io.Reader) (*lines, error) {
	if path == stdinPath {
		return &lines{name: "stdin", r: interruptible(ctx, stdin)}, nil
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
		return &lines{name: path, r: f, size: uint64(info.Size())}, nil
	default:
		return &lines{name: path, r: interruptible(ctx, f)}, nil
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
func (l *lines) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	l.read += uint64(n)
	return n, err
}

// Close closes what was f.
func (l *lines) Close() error { return l.r.Close() }

// events returns the events of the file, one per line. Those without a tenant
// get that one. The records that outboxes write about their own numbering are
// events of a history too.
func (l *lines) events(ctx context.Context, tenant string, bar *cli.Progress) history {
	return func(yield func(events.Event, error) bool) {
		list := ingest.CloudEvents(ctx, l, ingest.Options{File: l.name, Tenant: tenant, Records: true})
		n := uint64(0)
		for e, err := range list {
			if !yield(e, err) {
				return
			}
			if n++; l.size > 0 {
				bar.Set(l.read, l.size)
			} else {
				bar.Set(n, 0)
			}
		}
	}
}
