package hookclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// A process that is stopped, not ended, while it appends to the shared outbox
// keeps everybody else from it: an agent that its user suspends takes its hooks
// with it. Events then go into files of their own, one for each payload, and from
// there into the outbox as soon as that can be had.

// SpoolDir returns the folder of a data directory where these files are.
func SpoolDir(dataDir string) string { return filepath.Join(dataDir, "hook-spool") }

const (
	spoolSuffix = ".jsonl"
	// damagedSuffix ends the name of a file that cannot be read, behind its own.
	damagedSuffix = ".damaged"
	// sweepEvery is how often a publisher looks for files that no later hook
	// command has taken.
	sweepEvery = 30 * time.Second
)

// spool keeps events, which have been redacted, in a file.
func spool(dataDir string, list []events.Event) error {
	dir := SpoolDir(dataDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	var text []byte
	for _, e := range list {
		text = append(e.Append(text), '\n')
	}
	file := filepath.Join(dir, events.NewID())
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("spool: %w", errors.Join(err, os.Remove(file)))
	}
	return os.Rename(file, file+spoolSuffix)
}

// Sweep brings spooled events of a data directory into its shared outbox: each file
// is removed when its events are there, and may come again if that is interrupted.
// It goes on with the other files after one that it cannot take, and returns the
// first error. Several processes may sweep at a time.
func Sweep(ctx context.Context, dataDir string) error {
	entries, err := os.ReadDir(SpoolDir(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), spoolSuffix) || !entry.Type().IsRegular() {
			continue
		}
		if e := sweepFile(ctx, dataDir, filepath.Join(SpoolDir(dataDir), entry.Name())); err == nil {
			err = e
		}
	}
	return err
}

// sweepFile takes one file, unless another process does.
func sweepFile(ctx context.Context, dataDir, path string) (err error) {
	lock, err := filelock.Try(path)
	if errors.Is(err, filelock.ErrHeld) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	list, err := spooled(path)
	if err != nil {
		return err
	}
	opts := publish.SharedOptions{Full: publish.Fail, Redactor: publish.NoRedaction} // they are redacted
	if _, err := publish.AppendShared(ctx, SharedOutbox(dataDir), opts, list...); err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// spooled reads a file of events: none if another process has taken it meanwhile.
// One that cannot be read is set aside, so that this is said once.
func spooled(path string) (list []events.Event, err error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	for line := range bytes.Lines(text) {
		e, err := events.Decode(bytes.TrimSpace(line))
		if err != nil {
			kept := path + damagedSuffix
			return nil, errors.Join(fmt.Errorf("sweep: events of a hook cannot be read, kept in %s: %w", kept, err), os.Rename(path, kept))
		}
		list = append(list, e)
	}
	return list, nil
}

// SweepAlways sweeps until ctx ends. What cannot be taken is logged, and tried again.
func SweepAlways(ctx context.Context, dataDir string, logger *slog.Logger) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := Sweep(ctx, dataDir); err != nil && ctx.Err() == nil {
			logger.WarnContext(ctx, "events of hooks stay in files", "folder", SpoolDir(dataDir), "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
