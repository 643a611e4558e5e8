package agentfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Source reads a tenant's ledger.
type Source interface {
	// After yields the records after the given leaf in ledger order. -1 yields all records. The
	// source must not reuse the memory of a yielded record.
	After(ctx context.Context, leaf int64) iter.Seq2[Entry, error]
	// Run yields the records of a run in ledger order.
	Run(ctx context.Context, run string) iter.Seq2[Entry, error]
	// Erased yields the runs erased by orders after the leaf order, in ledger order. -1 yields all
	// erased runs.
	Erased(ctx context.Context, order int64) iter.Seq2[Erasure, error]
}

// An Entry is one record of a ledger.
type Entry struct {
	Leaf  int64
	Hash  events.Hash // of the original bytes, even after an erasure
	Event []byte      // nil if the record has no event or was erased
}

// An Erasure names a run whose payloads were erased by the order at the leaf Order.
type Erasure struct {
	Order int64
	Run   string
}

// Options are the settings of a [Writer].
type Options struct {
	// Interval is the minimum time between two commits, one second by default. Other processes can
	// open the file in between.
	Interval time.Duration
	// RowsPerFile is the number of rows after which new runs go into the next file, 100,000 by
	// default.
	RowsPerFile int64
	// ChunkEvents and ChunkBytes limit a commit, to 20,000 events and 8 MiB by default.
	ChunkEvents int
	ChunkBytes  int
	Logger      *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	if o.RowsPerFile <= 0 {
		o.RowsPerFile = rowsPerFile
	}
	if o.ChunkEvents <= 0 {
		o.ChunkEvents = 20_000
	}
	if o.ChunkBytes <= 0 {
		o.ChunkBytes = 8 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// A Writer updates the AgentFS files in a folder. It is safe for concurrent use, one call per
// tenant at a time.
type Writer struct {
	dir  string
	opts Options

	mu      sync.Mutex // guards tenants, calls and tenant.used; locked before tenant.mu
	tenants map[string]*tenant
	calls   uint64
}

const maxRoutes = 32

type tenant struct {
	used uint64 // value of Writer.calls at the tenant's last call

	mu      sync.Mutex // guards routes and checked; held during Sync
	routes  *routes
	checked map[string]bool // names of files that belong to this ledger
}

// Open returns a writer for the AgentFS files in dir. Only one process may write there.
func Open(dir string, opts Options) *Writer {
	return &Writer{dir: dir, opts: opts.withDefaults(), tenants: map[string]*tenant{}}
}

// Sync applies all new records of src to the files of the tenant called name. The changes are
// durable when it returns. Files that it cannot write wait for the next call. The error wraps
// [ErrBusy] if another process has one open.
func (w *Writer) Sync(ctx context.Context, name string, src Source) error {
	t := w.tenant(name)
	t.mu.Lock()
	opened := t.routes == nil
	err := w.open(ctx, t, name, src)
	if err == nil {
		s := &session{Writer: w, tenant: t, src: src, failures: map[string]error{}, updated: map[string]time.Time{}}
		err = s.run(ctx)
	}
	t.mu.Unlock()
	if opened {
		err = errors.Join(err, w.evict())
	}
	if err != nil {
		return fmt.Errorf("agentfs of tenant %q: %w", name, err)
	}
	return nil
}

// Close closes all files and databases. A later call of [Writer.Sync] opens them again.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	for name, t := range w.tenants {
		t.mu.Lock()
		if t.routes != nil {
			errs = append(errs, t.routes.close())
		}
		t.routes = nil
		t.mu.Unlock()
		delete(w.tenants, name)
	}
	return errors.Join(errs...)
}

func (w *Writer) tenant(name string) *tenant {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok := w.tenants[name]
	if !ok {
		t = &tenant{checked: map[string]bool{}}
		w.tenants[name] = t
	}
	w.calls++
	t.used = w.calls
	return t
}

func (w *Writer) evict() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var idle []*tenant
	for _, t := range w.tenants {
		if t.mu.TryLock() {
			if t.routes == nil {
				t.mu.Unlock()
				continue
			}
			idle = append(idle, t)
		}
	}
	slices.SortFunc(idle, func(a, b *tenant) int { return cmp.Compare(b.used, a.used) })
	var errs []error
	for i, t := range idle {
		if i >= maxRoutes {
			errs = append(errs, t.routes.close())
			t.routes = nil
		}
		t.mu.Unlock()
	}
	return errors.Join(errs...)
}

func (w *Writer) open(ctx context.Context, t *tenant, name string, src Source) error {
	if t.routes != nil {
		return nil
	}
	r, err := openRoutes(ctx, w.dir, name, w.opts.RowsPerFile)
	if err != nil {
		return err
	}
	ok, err := contains(ctx, src, r.pos)
	if err == nil && !ok {
		w.opts.Logger.WarnContext(ctx, "agentfs routes of another ledger reset", "tenant", name)
		err = r.reset()
	}
	if err == nil && r.pos == start {
		err = w.rebuildIfErased(ctx, r, src)
	}
	if err != nil {
		return errors.Join(err, r.close())
	}
	t.routes = r
	return nil
}

// rebuildIfErased rebuilds all files if any run was erased. Without its erased first event, a run
// may belong in another file.
func (w *Writer) rebuildIfErased(ctx context.Context, r *routes, src Source) error {
	for _, err := range src.Erased(ctx, -1) {
		if err != nil {
			return fmt.Errorf("read orders: %w", err)
		}
		return w.rebuildAll(r)
	}
	return nil
}

func (w *Writer) rebuildAll(r *routes) error {
	files, err := List(w.dir, r.tenant)
	if err != nil {
		return err
	}
	for _, f := range files {
		state, err := r.file(f.Name)
		if err != nil {
			return err
		}
		state.clear()
		state.rebuild = true
	}
	return r.commit()
}

func contains(ctx context.Context, src Source, pos position) (bool, error) {
	if pos.leaf < 0 {
		return true, nil
	}
	for e, err := range src.After(ctx, pos.leaf-1) {
		if err != nil {
			return false, fmt.Errorf("read ledger: %w", err)
		}
		return positionOf(e) == pos, nil
	}
	return false, nil
}

func (w *Writer) path(name string) string { return filepath.Join(w.dir, name) }

func (w *Writer) missing(name string) bool {
	_, err := os.Stat(w.path(name))
	return errors.Is(err, os.ErrNotExist)
}
