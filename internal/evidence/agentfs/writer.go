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
	// After yields the records after leaf in ledger order, or all for -1. The bytes of
	// an Entry do not change.
	After(ctx context.Context, leaf int64) iter.Seq2[Entry, error]
	// Run yields the records of a run in ledger order.
	Run(ctx context.Context, run string) iter.Seq2[Entry, error]
	// Erased yields the runs that erasure orders after the leaf order concern, in
	// ledger order, or all for -1.
	Erased(ctx context.Context, order int64) iter.Seq2[Erasure, error]
}

// An Entry is one record of a ledger.
type Entry struct {
	Leaf  int64
	Hash  events.Hash // of the record's bytes, also after an erasure
	Event []byte      // bytes of the event, nil for other records and erased events
}

// An Erasure is a run of which an order erased payloads.
type Erasure struct {
	Order int64
	Run   string
}

// Options are the settings of a [Writer].
type Options struct {
	// Interval is the shortest time between two commits of one file in a call of Sync,
	// one second by default.
	Interval time.Duration
	// RowsPerFile is how many rows a file gets before new runs use the next one,
	// 100,000 by default.
	RowsPerFile int64
	// ChunkEvents and ChunkBytes limit one commit, 20,000 and 32 MiB by default.
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
		o.ChunkBytes = 32 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// A Writer updates the AgentFS files in one folder from the ledgers of all tenants. It
// may be used concurrently. Calls for one tenant run one after the other.
type Writer struct {
	dir  string
	opts Options

	mu      sync.Mutex // guards tenants, calls and tenant.used; locked before tenant.mu
	tenants map[string]*tenant
	calls   uint64
}

// maxRoutes bounds open routes, which need file descriptors and memory.
const maxRoutes = 32

type tenant struct {
	used uint64 // value of Writer.calls at the last call

	mu      sync.Mutex // guards routes and checked; held during Sync
	routes  *routes
	checked map[string]bool // files that belong to this ledger
}

// Open returns the writer of the AgentFS files in dir, which may be missing. Only one
// process may write to a folder.
func Open(dir string, opts Options) *Writer {
	return &Writer{dir: dir, opts: opts.withDefaults(), tenants: map[string]*tenant{}}
}

// Sync applies all new records to the files of a tenant and returns when they are
// durable. It skips files that it cannot write, and the next call retries them. The
// error names them and wraps [ErrBusy] for files that another process has open.
//
// Sync opens a file once, or once per [Options.Interval] if there are many records.
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

// Close closes all files and databases. A later Sync opens them again.
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

// open opens the routes of a tenant. It resets routes of another ledger.
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

// rebuildIfErased rebuilds all files if the ledger has an erasure order. New routes
// may then assign runs to other files, because deciding events may be gone.
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
