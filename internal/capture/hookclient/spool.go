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
	"github.com/hooktrail/hooktrail/pkg/publish/outbox"
)

// SpoolDir returns the folder in a data directory for events that hook commands could neither send
// nor put into the outbox.
func SpoolDir(dataDir string) string { return filepath.Join(dataDir, "hook-spool") }

const (
	spoolSuffix   = ".jsonl"
	damagedSuffix = ".damaged"
	sweepInterval = 30 * time.Second
)

func spool(dataDir, url string, list []events.Event) error {
	dir := SpoolDir(dataDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	suffix, text := spoolSuffix, []byte(nil)
	if _, err := parseURL(url); err == nil { // events about an invalid URL stay here
		suffix, text = remoteSuffix(url), append([]byte(withoutSecrets(url)), '\n')
	}
	for _, e := range list {
		text = append(e.Append(text), '\n')
	}
	file := filepath.Join(dir, events.NewID())
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("spool: %w", errors.Join(err, os.Remove(file)))
	}
	return os.Rename(file, file+suffix)
}

// Sweep moves events from spool files to the shared outbox of a data directory. A hook command
// writes a spool file if the outbox is blocked. Sweep continues after a damaged file. Several
// processes can call Sweep at the same time.
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
	opts := outbox.SharedOptions{Full: outbox.Fail, Redactor: outbox.NoRedaction, Journal: outbox.JournalDir(dataDir)}
	if _, err := outbox.AppendShared(ctx, SharedOutbox(dataDir), opts, list...); err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func spooled(path string) (list []events.Event, err error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	if strings.HasSuffix(path, remoteEnding) {
		_, text, _ = bytes.Cut(text, []byte("\n"))
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

// SweepAlways calls Sweep every 30 seconds until ctx ends, and logs errors.
func SweepAlways(ctx context.Context, dataDir string, logger *slog.Logger) {
	tick := time.NewTicker(sweepInterval)
	defer tick.Stop()
	for {
		if err := Sweep(ctx, dataDir); err != nil && ctx.Err() == nil {
			logger.WarnContext(ctx, "hook events stay in spool files", "folder", SpoolDir(dataDir), "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
