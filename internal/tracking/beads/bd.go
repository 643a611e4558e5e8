package beads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

const (
	callDeadline = 15 * time.Second
	initDeadline = 60 * time.Second
	killGrace    = 2 * time.Second
	syncPace     = 2 * time.Second
	// syncSize limits the issues per call of bd. On a busy machine, bd needs half a second for
	// each.
	syncSize      = 10
	maxTries      = 3 // refusals after which BD skips an issue
	maxConcurrent = 4
)

// BDOptions configures a [BD].
type BDOptions struct {
	// Path is the path or the name of the Beads CLI. Empty means bd.
	Path string
	// Dir contains one folder for each tenant. It must not be the folder of a [Store], because bd
	// would import the files there.
	Dir string
	// DB is the open database. Its schema must include the tables of Schema.
	DB *projection.DB
	// Deadline is the time limit of one bd call. Zero means 15 s.
	Deadline time.Duration
	// Pace is the pause between two updates of a workspace. Zero means 2 s.
	Pace time.Duration
	// Env contains additional environment variables for bd, which inherits only a few variables of
	// this process.
	Env    []string
	Logger *slog.Logger
}

func (o BDOptions) withDefaults() BDOptions {
	o.Path = cmp.Or(o.Path, "bd")
	o.Deadline = cmp.Or(o.Deadline, callDeadline)
	o.Pace = cmp.Or(o.Pace, syncPace)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// BD stores issues in Beads workspaces through bd, the Beads CLI. If a change fails, the next
// [BD.Export] tries again. The methods may be called concurrently.
type BD struct {
	opts    BDOptions
	table   *table
	runner  *runner
	version *versionCheck

	mu     sync.Mutex // guards spaces and each bdWorkspace.down. Holders take no other lock
	spaces map[string]*bdWorkspace
}

type bdWorkspace struct {
	space bdSpace
	sync  *syncer // used only within space.exclusive
	down  bool    // the last export failed to reach the workspace. BD.mu guards it
}

var errWorkspace = errors.New("workspace cannot be used")

// NewBD returns a backend that calls bd. The database in opts must stay open while the backend is
// in use.
func NewBD(opts BDOptions) (*BD, error) {
	switch {
	case opts.Dir == "":
		return nil, errors.New("option Dir: missing")
	case opts.DB == nil:
		return nil, errors.New("option DB: missing")
	}
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("option Dir: %w", err)
	}
	opts = opts.withDefaults()
	opts.Dir = dir
	r := &runner{path: opts.Path, deadline: opts.Deadline, env: opts.Env}
	return &BD{
		opts: opts, table: newTable(opts.DB), runner: r, version: &versionCheck{runner: r},
		spaces: make(map[string]*bdWorkspace),
	}, nil
}

// Workspace returns the [Backend] for the issues of the given tenant.
func (b *BD) Workspace(tenant string) Backend {
	return &workspace{table: b.table, place: b, tenant: tenant}
}

// Flush writes all pending changes to the database on disk, in one transaction.
func (b *BD) Flush(ctx context.Context) error { return b.table.lockedFlush(ctx) }

// Recover makes the next Export compare all workspaces with the database. Call it at the start,
// because the previous process may have crashed before it updated a workspace.
func (b *BD) Recover(ctx context.Context) error { return b.table.recover(ctx) }

// Backlog returns the number of issues whose Beads workspace does not yet contain all changes.
func (b *BD) Backlog(ctx context.Context) (int, error) { return b.table.backlog(ctx) }

// Export copies the changed issues from the database to the Beads workspaces. The error wraps
// ErrUnavailable if no workspace can be reached.
func (b *BD) Export(ctx context.Context) error {
	if err := b.Flush(ctx); err != nil {
		return err
	}
	tenants := b.table.staleTenants()
	var (
		wg    sync.WaitGroup
		slots = make(chan struct{}, maxConcurrent)
		errs  = make([]error, len(tenants))
	)
	for n, tenant := range tenants {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[n] = b.export(ctx, tenant)
		})
	}
	wg.Wait()
	err := errors.Join(errs...)
	if b.allDown(tenants, errs) {
		err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err != nil {
		return fmt.Errorf("export issues: %w", err)
	}
	return nil
}

func (b *BD) allDown(tenants []string, errs []error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n, tenant := range tenants {
		if w := b.spaces[tenant]; w != nil {
			w.down = errors.Is(errs[n], errHung) || errors.Is(errs[n], errWorkspace)
		}
	}
	for _, w := range b.spaces {
		if !w.down {
			return false
		}
	}
	return len(tenants) > 0
}

func (b *BD) export(ctx context.Context, tenant string) error {
	w, err := b.space(tenant)
	if err != nil {
		return err
	}
	b.table.setStale(tenant, false) // a Flush during the export sets the flag again
	err = w.space.exclusive(ctx, func() error {
		if ids, err := w.sync.dirty(ctx); err != nil || len(ids) == 0 {
			return err
		}
		if err := w.sync.awaitPace(ctx, b.opts.Pace); err != nil {
			return err
		}
		defer func() { w.sync.last = time.Now() }()
		return w.space.locked(ctx, func() error { return w.sync.run(ctx) })
	})
	if err != nil {
		b.table.setStale(tenant, true)
		return fmt.Errorf("workspace of %q: %w", tenant, err)
	}
	return nil
}

func (b *BD) inSpace(ctx context.Context, tenant string, do func(*bdWorkspace) error) error {
	w, err := b.space(tenant)
	if err != nil {
		return err
	}
	return w.space.exclusive(ctx, func() error {
		return w.space.locked(ctx, func() error { return do(w) })
	})
}

func (b *BD) space(tenant string) (*bdWorkspace, error) {
	name, err := subjects.FileName(tenant)
	if err != nil {
		return nil, fmt.Errorf("workspace of tenant: %w: %w", ErrInvalid, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.spaces[tenant]
	if w == nil {
		dir := filepath.Join(b.opts.Dir, name)
		w = &bdWorkspace{
			space: newBDSpace(dir, b.runner, b.version),
			sync: &syncer{
				tenant: tenant, table: b.table, logger: b.opts.Logger, failed: make(map[string]refusal),
				reader: bdReader{dir: dir, runner: b.runner, version: b.version},
				writer: bdWriter{dir: dir, tenant: tenant, runner: b.runner, table: b.table, logger: b.opts.Logger},
			},
		}
		b.spaces[tenant] = w
	}
	return w, nil
}

func (b *BD) look(ctx context.Context, tenant string) error {
	return b.inSpace(ctx, tenant, func(w *bdWorkspace) error { return w.sync.findEdits(ctx) })
}

func (b *BD) probe(ctx context.Context, tenant string) error {
	err := b.inSpace(ctx, tenant, func(w *bdWorkspace) error { return b.version.check(ctx, w.space.dir) })
	if errors.Is(err, errWorkspace) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
