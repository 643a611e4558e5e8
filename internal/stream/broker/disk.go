package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	smallestStream = 64 << 20 // the least that an event stream of a new data directory gets
	otherStreams   = deadLetterBytes + advisoryBytes + checkpointBytes
	monitorEvery   = 10 * time.Second
	manySubjects   = 500_000

	warnDisk     = "disk"
	warnStore    = "store"
	warnSubjects = "subjects"
	warnRefused  = "permissions"
	warnAway     = "connection"
)

// ErrDiskSmall is wrapped when the disk has no room for the streams.
var ErrDiskSmall = errors.New("the disk is too small for the broker")

// storeLimit returns the MaxStore of the server: what was asked for when the
// disk can hold it, by default nine tenths of what it can. What the store
// already has counts as room.
func storeLimit(dir string, asked int64) (int64, error) {
	free, err := diskFree(dir)
	if err != nil {
		return 0, err
	}
	used, err := folderSize(filepath.Join(dir, "jetstream"))
	if err != nil {
		return 0, err
	}
	room := (free + used) / 10 * 9
	if asked > room {
		return 0, fmt.Errorf("%w: %s asked for, %s has room for %s; free some space, "+
			"choose another --data-dir, or ask for less", ErrDiskSmall, size(asked), dir, size(room))
	}
	if asked > 0 {
		room = asked
	}
	if used == 0 && room < smallestStream+otherStreams {
		return 0, fmt.Errorf("%w: %s has room for %s, at least %s are needed; free some space "+
			"or choose another --data-dir", ErrDiskSmall, dir, size(room), size(smallestStream+otherStreams))
	}
	return room, nil
}

// guard sees to it that the streams stay below MaxStore: it gives a new event
// stream its default size, and refuses a size that was asked for and is too much.
func (e *embedded) guard(opts *StreamOptions, asked int64) error {
	room := e.maxStore - otherStreams - 1
	if asked > room && asked > 0 {
		return fmt.Errorf("%w: a stream of %s was asked for, the store has room for %s; "+
			"free some space, choose another --data-dir, or ask for less", ErrDiskSmall, size(asked), size(room))
	}
	// Half of it, so that ledger and projections, which hold the same again,
	// have room on the disk beside it.
	opts.DefaultBytes = min(DefaultStreamBytes, max(room/2, smallestStream))
	return nil
}

// monitor watches what grows until ctx ends.
func (b *Broker) monitor(ctx context.Context) {
	tick := time.NewTicker(monitorEvery)
	defer tick.Stop()
	for {
		b.check(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (b *Broker) check(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, monitorEvery)
	defer cancel()
	stream, err := b.streams.Stream(ctx, b.opts.Space.EventStream())
	if err != nil {
		return // who uses the stream reports it
	}
	info := stream.CachedInfo()
	b.warn(ctx, warnSubjects, subjectWarning(info))
	if e := b.embedded.Load(); e != nil {
		left := info.Config.MaxBytes - int64(info.State.Bytes)
		b.warn(ctx, warnDisk, diskWarning(e.dir, left))
		b.warn(ctx, warnStore, storeWarning(info.Config.MaxBytes+otherStreams, e.maxStore))
	}
}

// subjectWarning says when there are more than the server should keep in mind.
func subjectWarning(info *jetstream.StreamInfo) string {
	if info.State.NumSubjects <= manySubjects {
		return ""
	}
	return fmt.Sprintf("stream %s has %d live subjects, more than %d: each costs memory in the server; "+
		"shorten its MaxAge", info.Config.Name, info.State.NumSubjects, manySubjects)
}

// diskWarning says when the disk would be full before the stream is. The
// store's overhead and the projections beside it take part of it too.
func diskWarning(dir string, left int64) string {
	free, err := diskFree(dir)
	switch {
	case err != nil:
		return err.Error()
	case free < left:
		return fmt.Sprintf("%s has %s free, the event stream may still grow by %s: "+
			"free some space before the disk is full", dir, size(free), size(left))
	case free < smallestStream:
		return fmt.Sprintf("%s has only %s free: free some space before the disk is full", dir, size(free))
	}
	return ""
}

// warn sets or, with an empty text, clears the warning of that name, and logs
// when it comes and goes.
func (b *Broker) warn(ctx context.Context, name, text string) {
	b.mu.Lock()
	_, had := b.warnings[name]
	if text == "" {
		delete(b.warnings, name)
	} else {
		b.warnings[name] = text
	}
	b.mu.Unlock()
	switch {
	case text != "" && !had:
		b.opts.Logger.WarnContext(ctx, "broker needs attention", "condition", name, "detail", text)
	case text == "" && had:
		b.opts.Logger.InfoContext(ctx, "broker condition ended", "condition", name)
	}
}

// storeWarning says when the streams, made when there was more room, may take
// more than the store has now. Publishing is refused then before they are full.
func storeWarning(streams, store int64) string {
	if streams < store {
		return ""
	}
	return fmt.Sprintf("the streams may take %s, the store has room for %s: free some space, and start again",
		size(streams), size(store))
}

func diskFree(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:unconvert // 32 bits on other systems
}

// folderSize adds up the files below dir. Files that go away meanwhile do not count.
func folderSize(dir string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("size of %s: %w", dir, err)
	}
	return sum, nil
}

func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d B", n)
}
