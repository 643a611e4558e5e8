package beads

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// The pace of the bd backend.
const (
	callDeadline = 15 * time.Second
	initDeadline = 60 * time.Second
	killGrace    = 2 * time.Second
	syncPace     = 2 * time.Second
	// Issues in one round of calls. On a busy machine bd takes half a second for each:
	// to show a hundred takes longer than a call may.
	syncSize = 10
	patience = 3 // failures of an issue before it is left alone
	atOnce   = 4 // workspaces that calls run for at a time
)

// BDOptions configures a [BD].
type BDOptions struct {
	// Path is the Beads CLI: a path, or a name that is looked up in PATH. Empty
	// means bd.
	Path string
	// Dir has a workspace for each tenant, in a folder of its name. One that is
	// missing is made with bd init. It must not be that of a [Store]: bd takes
	// in an issues.jsonl that it finds.
	Dir string
	// DB has the tables of Schema.
	DB *projection.DB
	// Deadline is what a call of bd may take; 15 s if zero. What takes longer is
	// ended, with all that it started.
	Deadline time.Duration
	// Pace is the time between two rounds of calls for one workspace, in which
	// changes gather; 2 s if zero.
	Pace time.Duration
	// Env is added to the environment of bd, which otherwise has few variables.
	Env []string
	// Logger is told what a person should know; nil discards it.
	Logger *slog.Logger
}

// BD is the backend that keeps issues in real Beads workspaces, by calls of the
// Beads CLI.
//
// What issues are to be like is in the database; there [Store.Flush] puts what
// was asked for. [BD.Export] brings the workspaces up to it, in few calls for all
// changes since the last time. So nothing is lost while bd is missing, hangs or
// is killed: the next Export goes on from what show says was stored.
type BD struct {
	*Store
	opts BDOptions

	spaceMu sync.Mutex // guards spaces and version
	spaces  map[string]*space
	version string
}

// space is a workspace of bd. Its fields belong to who holds turn.
type space struct {
	tenant, dir string
	turn        chan struct{} // holds one element; calls of bd are one after the other
	ready       bool
	last        time.Time          // when the latest round of calls ended
	failed      map[string]refusal // what bd did not take, by issue
	refused     map[string]bool    // the issues that bd would not have in this round
	tried       map[string]bool    // those that it counts as a try in this sync

	down bool // it could not be reached the last time; guarded by spaceMu
}

// errWorkspace is wrapped where it is the workspace that cannot be used, not bd.
var errWorkspace = errors.New("workspace cannot be used")

// NewBD returns the backend that calls bd. Close opts.DB after its last use.
func NewBD(opts BDOptions) (*BD, error) {
	switch {
	case opts.Dir == "":
		return nil, errors.New("option Dir: missing")
	case opts.DB == nil:
		return nil, errors.New("option DB: missing")
	}
	if opts.Path == "" {
		opts.Path = "bd"
	}
	if opts.Deadline == 0 {
		opts.Deadline = callDeadline
	}
	if opts.Pace == 0 {
		opts.Pace = syncPace
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("option Dir: %w", err)
	}
	opts.Dir = dir
	b := &BD{Store: NewStore(opts.DB, dir), opts: opts, spaces: make(map[string]*space)}
	b.LogTo(opts.Logger)
	b.place = b
	return b, nil
}

// Export brings all workspaces up to what was flushed. The workspaces are
// independent: one that fails keeps no other from it. The error wraps
// ErrUnavailable if bd is not there at all, or if no workspace could be reached.
func (b *BD) Export(ctx context.Context) error {
	if err := b.Flush(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	tenants := make([]string, 0, len(b.stale))
	for tenant := range b.stale {
		tenants = append(tenants, tenant)
	}
	b.mu.Unlock()
	var (
		wg    sync.WaitGroup
		slots = make(chan struct{}, atOnce)
		errs  = make([]error, len(tenants))
	)
	for n, tenant := range tenants {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[n] = b.bring(ctx, tenant)
		})
	}
	wg.Wait()
	err := errors.Join(errs...)
	if b.unreachable(tenants, errs) {
		err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err != nil {
		return fmt.Errorf("export issues: %w", err)
	}
	return nil
}

// unreachable takes in what came of an export to tenants, and reports whether
// there is no workspace left that can be reached.
func (b *BD) unreachable(tenants []string, errs []error) bool {
	b.spaceMu.Lock()
	defer b.spaceMu.Unlock()
	for n, tenant := range tenants {
		if sp := b.spaces[tenant]; sp != nil {
			sp.down = errors.Is(errs[n], errHung) || errors.Is(errs[n], errWorkspace)
		}
	}
	for _, sp := range b.spaces {
		if !sp.down {
			return false
		}
	}
	return len(tenants) > 0
}

// bring brings the workspace of tenant up to date.
func (b *BD) bring(ctx context.Context, tenant string) error {
	sp, err := b.space(tenant)
	if err != nil {
		return err
	}
	// Whatever is flushed from now on makes it stale again.
	b.mu.Lock()
	delete(b.stale, tenant)
	b.mu.Unlock()
	err = b.inTurn(ctx, sp, func() error {
		if ids, err := b.dirty(ctx, sp); err != nil || len(ids) == 0 {
			return err
		}
		select {
		case <-time.After(time.Until(sp.last.Add(b.opts.Pace))):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrTransient, ctx.Err())
		}
		defer func() { sp.last = time.Now() }()
		return b.inside(ctx, sp, func() error { return b.sync(ctx, sp) })
	})
	if err != nil {
		b.mu.Lock()
		b.stale[tenant] = true
		b.mu.Unlock()
		return fmt.Errorf("workspace of %q: %w", tenant, err)
	}
	return nil
}

// inSpace has do use the workspace of tenant once it is ready and nobody else
// does.
func (b *BD) inSpace(ctx context.Context, tenant string, do func(*space) error) error {
	sp, err := b.space(tenant)
	if err != nil {
		return err
	}
	return b.inTurn(ctx, sp, func() error {
		return b.inside(ctx, sp, func() error { return do(sp) })
	})
}

// inTurn has do run when nothing else of this process uses the workspace.
func (b *BD) inTurn(ctx context.Context, sp *space, do func() error) error {
	select {
	case <-sp.turn:
		defer func() { sp.turn <- struct{}{} }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrTransient, ctx.Err())
	}
	return do()
}

// inside has do run when the workspace is ready and no other process uses it
// through this package.
func (b *BD) inside(ctx context.Context, sp *space, do func() error) (err error) {
	if err := makeFolder(sp.dir); err != nil {
		return fmt.Errorf("%w: %w: %w", errWorkspace, ErrTransient, err)
	}
	waiting, cancel := context.WithTimeout(ctx, b.opts.Deadline)
	defer cancel()
	lock, err := filelock.Wait(waiting, filepath.Join(sp.dir, ".hooktrail.lock"), func() {})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrTransient, err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if err := b.prepare(ctx, sp); err != nil {
		return err
	}
	return do()
}

func (b *BD) space(tenant string) (*space, error) {
	name, err := subjects.FileName(tenant)
	if err != nil {
		return nil, fmt.Errorf("workspace of tenant: %w: %w", ErrInvalid, err)
	}
	b.spaceMu.Lock()
	defer b.spaceMu.Unlock()
	sp := b.spaces[tenant]
	if sp == nil {
		sp = &space{
			tenant: tenant, dir: filepath.Join(b.opts.Dir, name), turn: make(chan struct{}, 1), failed: make(map[string]refusal),
		}
		sp.turn <- struct{}{}
		b.spaces[tenant] = sp
	}
	return sp, nil
}

// prepare makes sure that bd is Beads, and that the workspace exists.
func (b *BD) prepare(ctx context.Context, sp *space) error {
	if sp.ready {
		return nil
	}
	if err := b.checkVersion(ctx, sp.dir); err != nil {
		return err
	}
	if err := b.makeSpace(ctx, sp); err != nil {
		return err
	}
	leftovers, err := filepath.Glob(globEscape(sp.dir) + "/" + tempPattern) // of a process that was killed
	for _, path := range leftovers {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return fmt.Errorf("%w: %w: %w", errWorkspace, ErrTransient, err)
	}
	sp.ready = true
	return nil
}

// probe implements place.
func (b *BD) probe(ctx context.Context, tenant string) error {
	err := b.inSpace(ctx, tenant, func(sp *space) error {
		return b.checkVersion(ctx, sp.dir)
	})
	if errors.Is(err, errWorkspace) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
