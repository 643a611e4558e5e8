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

// Source is a tenant's ledger, as far as the projection needs it.
type Source interface {
	// After yields the records behind leaf in the order of the ledger, all of
	// them behind -1. The bytes of an Entry stay as they are.
	After(ctx context.Context, leaf int64) iter.Seq2[Entry, error]
	// Run yields the events of a run in the same order.
	Run(ctx context.Context, run string) iter.Seq2[Entry, error]
	// Erased yields which runs the orders behind the leaf order destroyed
	// something of, all orders behind -1, in the order of the ledger.
	Erased(ctx context.Context, order int64) iter.Seq2[Erasure, error]
}

// Entry is one record of a ledger.
type Entry struct {
	Leaf  int64       // index of its leaf, from 0
	Hash  events.Hash // of the record's bytes, those that were destroyed too
	Event []byte      // the event's bytes, verbatim; nil where it is none, or was destroyed
}

// Erasure says that an order destroyed payloads of a run.
type Erasure struct {
	Order int64 // leaf of the order
	Run   string
}

// Options are the settings of a [Writer].
type Options struct {
	// Interval is how long a file is left alone after a commit, when one call of
	// Sync has more for it. Default one second.
	Interval time.Duration
	// RowsPerFile is how many rows a file gets before new runs go to the next.
	// Default 100,000.
	RowsPerFile int64
	// ChunkEvents and ChunkBytes bound what one commit takes, whichever is
	// reached first. Default 20,000 and 32 MiB.
	ChunkEvents int
	ChunkBytes  int
	Logger      *slog.Logger // default: none
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

// Writer keeps the AgentFS files of one folder up to date with the ledgers of
// its tenants. It may be used concurrently; calls for one tenant go one after
// the other.
type Writer struct {
	dir  string
	opts Options

	mu      sync.Mutex // guards tenants, and which was used when
	tenants map[string]*tenant
	calls   uint64
}

// maxRoutes is how many tenants' routes are held open between calls: each has
// descriptors and memory of its own.
const maxRoutes = 32

// tenant is what a Writer holds of one tenant between calls.
type tenant struct {
	used uint64 // the last call of it

	mu      sync.Mutex // held during Sync
	routes  *routes
	checked map[string]bool // files that are known to belong to this ledger
}

// Open returns the writer of the AgentFS files in dir, which need not exist.
// Only one process may write into a folder at a time.
func Open(_ context.Context, dir string, opts Options) *Writer {
	return &Writer{dir: dir, opts: opts.withDefaults(), tenants: map[string]*tenant{}}
}

// Sync applies everything of the ledger that the files of tenant do not have
// yet, and returns when it is durable. Files that are in use by another process
// are passed over, as are those that cannot be written; the error names them,
// wraps [ErrBusy] for the former, and the next call takes them up again.
//
// Sync opens each file once, or once per [Options.Interval] where there is much
// to do; a caller that wants no more than that for the process calls it no more
// often.
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

// Close gives back what the writer holds. A later Sync opens it again.
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

// spare closes the routes that were longest not used, when there are too many.
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

// open opens the routes of a tenant once, and drops those of another ledger.
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
		w.opts.Logger.WarnContext(ctx, "agentfs routes of another ledger dropped", "tenant", name)
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

// mistrust has what lies in the files written anew if an order has destroyed
// something: routes that are computed without it may lead to other files.
func (w *Writer) rebuildIfErased(ctx context.Context, r *routes, src Source) error {
	for _, err := range src.Erased(ctx, -1) {
		if err != nil {
			return fmt.Errorf("read orders: %w", err)
		}
		return w.rebuildAll(r)
	}
	return nil
}

// anew notes that all files of a tenant are to be written anew.
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

// holds reports whether the ledger has the event that pos stands for.
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

// path returns where a file lies.
func (w *Writer) path(name string) string { return filepath.Join(w.dir, name) }

// missing reports whether a file is not there.
func (w *Writer) missing(name string) bool {
	_, err := os.Stat(w.path(name))
	return errors.Is(err, os.ErrNotExist)
}
