package beads

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
)

// A bdSpace is the folder of one bd workspace. Only one goroutine at a time may use the folder.
//
// Lock order: the token in turn, the file lock, table.mu.
type bdSpace struct {
	dir     string
	runner  *runner
	version *versionCheck

	turn  chan struct{} // contains one token. Its owner may use ready and the syncer
	ready bool          // bd has a supported version, and the workspace exists
}

func newBDSpace(dir string, r *runner, v *versionCheck) bdSpace {
	s := bdSpace{dir: dir, runner: r, version: v, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s
}

func (s *bdSpace) exclusive(ctx context.Context, do func() error) error {
	select {
	case <-s.turn:
		defer func() { s.turn <- struct{}{} }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrTransient, ctx.Err())
	}
	return do()
}

// locked may only be called within exclusive.
func (s *bdSpace) locked(ctx context.Context, do func() error) (err error) {
	if err := makeFolder(s.dir); err != nil {
		return fmt.Errorf("%w: %w: %w", errWorkspace, ErrTransient, err)
	}
	waiting, cancel := context.WithTimeout(ctx, s.runner.deadline)
	defer cancel()
	lock, err := filelock.Wait(waiting, filepath.Join(s.dir, ".hooktrail.lock"), func() {})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrTransient, err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	return do()
}

func (s *bdSpace) prepare(ctx context.Context) error {
	if s.ready {
		return nil
	}
	if err := s.version.check(ctx, s.dir); err != nil {
		return err
	}
	if err := s.create(ctx); err != nil {
		return err
	}
	leftovers, err := filepath.Glob(globEscape(s.dir) + "/" + tempPattern)
	for _, path := range leftovers {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return fmt.Errorf("%w: %w: %w", errWorkspace, ErrTransient, err)
	}
	s.ready = true
	return nil
}

func (s *bdSpace) create(ctx context.Context) error {
	folder, marker := filepath.Join(s.dir, ".beads"), filepath.Join(s.dir, ".hooktrail.init")
	// A file with the name marker exists until a workspace is complete, because bd may be killed
	// after it wrote metadata.json. Nothing was written to a workspace with a marker.
	_, unmarked := os.Stat(marker)
	if _, err := os.Stat(filepath.Join(folder, "metadata.json")); err == nil && errors.Is(unmarked, fs.ErrNotExist) {
		return nil
	}
	if err := clearUnfinished(folder, marker); err != nil {
		return fmt.Errorf("make workspace: %w: %w: %w", errWorkspace, ErrTransient, err)
	}
	a, err := s.runner.callFor(ctx, initDeadline, s.dir, "init", "--prefix=ht", "--quiet", "--non-interactive", "--skip-hooks", "--skip-agents")
	if err != nil {
		return err
	}
	if a.code != 0 {
		return fmt.Errorf("bd init failed with exit status %d in %s: %w: %w", a.code, s.dir, errWorkspace, ErrTransient)
	}
	return removeMarker(marker)
}

func removeMarker(marker string) error {
	if err := os.Remove(marker); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("make workspace: %w: %w: %w", errWorkspace, ErrTransient, err)
	}
	return nil
}

// clearUnfinished removes a folder whose creation was interrupted, which the file marker shows. A
// folder without a marker belongs to a person and stays.
func clearUnfinished(folder, marker string) error {
	if _, err := os.Stat(marker); err == nil {
		return os.RemoveAll(folder)
	}
	if _, err := os.Stat(folder); err == nil {
		return nil
	}
	return os.WriteFile(marker, nil, 0o600)
}
