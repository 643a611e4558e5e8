package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const stdinPath = "-"

// Input is a file of CloudEvents, one per line, in the order of arrival.
type Input struct {
	Path   string    // "-" means Stdin
	Stdin  io.Reader // a read may block until the context ends
	Tenant string    // tenant for events without one
	Only   string    // tenant whose events count. Empty means all tenants
	Bar    Progress  // may be nil

	// Seen is called for each event before the rules are applied to it. It may be nil.
	Seen func(events.Event)
}

// Fold reads the file once and applies the rules to its events in all replays.
//
// A failure gets an issue only if no success follows in time. At the end of the file, Fold decides
// about the failures that still wait for a success.
func (in Input) Fold(ctx context.Context, replays ...*Replay) (bad Faults, err error) {
	l, err := openLines(ctx, in.Path, in.Stdin)
	if err != nil {
		return bad, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	bar := orSilent(in.Bar)
	defer bar.Finish()
	return fold(l.events(ctx, in.Tenant, bar).ofTenant(in.Only).observed(in.Seen), true, l.name, replays...)
}

type lines struct {
	name string
	r    io.ReadCloser
	size uint64 // in bytes, 0 if unknown
	read uint64 // bytes
}

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
		err = fmt.Errorf("%s is a folder, not a file of CloudEvents", path)
	case info.Mode().IsRegular():
		return &lines{name: path, r: f, size: uint64(info.Size())}, nil
	default:
		return &lines{name: path, r: interruptible(ctx, f)}, nil
	}
	return nil, fmt.Errorf("read events: %w", errors.Join(err, f.Close()))
}

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

// Close implements [io.Closer].
func (l *lines) Close() error { return l.r.Close() }

func (l *lines) events(ctx context.Context, tenant string, bar Progress) history {
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
