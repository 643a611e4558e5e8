package auditor

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/agentfs"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

const (
	syncEvery  = time.Second
	syncLatest = 30 * time.Second // interval after a sync that took long
)

const syncWorkers = 4

const logAgain = time.Minute

type fileSync struct {
	dataDir string
	only    string // empty means all tenants
	writer  *agentfs.Writer
	logger  *slog.Logger

	// mu guards pending.
	mu      sync.Mutex
	pending map[string]bool // tenants whose ledgers have changed

	// Only run uses logged and loggedAt.
	logged   string
	loggedAt time.Time
}

func newFileSync(o Options, writer *agentfs.Writer) *fileSync {
	return &fileSync{dataDir: o.DataDir, only: o.Tenant, writer: writer, logger: o.Logger, pending: make(map[string]bool)}
}

func (s *fileSync) changed(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending[tenant] = true
}

func (s *fileSync) run(ctx context.Context, tick func()) {
	s.all(ctx)
	tick()
	files, clock := time.NewTimer(syncEvery), time.NewTicker(renewEvery)
	defer files.Stop()
	defer clock.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-clock.C:
			tick()
		case <-files.C:
			began := time.Now()
			if err := s.sync(ctx); ctx.Err() == nil {
				s.log(ctx, err)
			}
			files.Reset(min(max(syncEvery, 4*time.Since(began)), syncLatest))
		}
	}
}

func (s *fileSync) log(ctx context.Context, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == s.logged && (err == nil || time.Since(s.loggedAt) < logAgain) {
		return
	}
	s.logged, s.loggedAt = text, time.Now()
	if err == nil {
		s.logger.InfoContext(ctx, "agentfs files written again")
		return
	}
	s.logger.WarnContext(ctx, "agentfs files not written", "error", err)
}

func (s *fileSync) all(ctx context.Context) {
	tenants, err := Options{DataDir: s.dataDir, Tenant: s.only}.tenants()
	if err != nil {
		s.logger.WarnContext(ctx, "ledgers not listed", "error", err)
	}
	for _, tenant := range tenants {
		s.changed(tenant)
	}
}

func (s *fileSync) sync(ctx context.Context) error {
	s.mu.Lock()
	tenants := slices.Sorted(maps.Keys(s.pending))
	clear(s.pending)
	s.mu.Unlock()
	errs := make([]error, len(tenants))
	var (
		wg   sync.WaitGroup
		next atomic.Int64
	)
	for range min(syncWorkers, len(tenants)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(tenants)); i = next.Add(1) - 1 {
				errs[i] = s.one(ctx, tenants[i])
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(errs...)
}

func (s *fileSync) one(ctx context.Context, tenant string) error {
	err := ctx.Err()
	if err == nil {
		err = s.tenant(ctx, tenant)
	}
	if err != nil && !errors.Is(err, ledger.ErrDamaged) { // a retry would not help
		s.changed(tenant)
	}
	return err
}

func (s *fileSync) tenant(ctx context.Context, tenant string) (err error) {
	r, err := ledger.OpenTenant(LedgerDir(s.dataDir), tenant)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return s.writer.Sync(ctx, tenant, records{r})
}

func (s *fileSync) close() error { return s.writer.Close() }

type records struct{ *ledger.Reader }

// AgentFSSource returns the ledger of r as the source of AgentFS files.
func AgentFSSource(r *ledger.Reader) agentfs.Source { return records{r} }

// After implements agentfs.Source.
func (r records) After(ctx context.Context, leaf int64) iter.Seq2[agentfs.Entry, error] {
	return projectable(r.Reader.After(ctx, leaf))
}

// Run implements agentfs.Source.
func (r records) Run(ctx context.Context, run string) iter.Seq2[agentfs.Entry, error] {
	return projectable(r.Reader.Run(ctx, run))
}

// Erased implements agentfs.Source.
func (r records) Erased(ctx context.Context, order int64) iter.Seq2[agentfs.Erasure, error] {
	return func(yield func(agentfs.Erasure, error) bool) {
		for run, err := range r.RemovedRuns(ctx, order) {
			if !yield(agentfs.Erasure(run), err) || err != nil {
				return
			}
		}
	}
}

func projectable(entries iter.Seq2[ledger.Entry, error]) iter.Seq2[agentfs.Entry, error] {
	return func(yield func(agentfs.Entry, error) bool) {
		for e, err := range entries {
			entry := agentfs.Entry{Leaf: e.Leaf, Hash: e.Hash}
			if e.Class == ledger.ClassEvent {
				entry.Event = e.Bytes
			}
			if !yield(entry, err) || err != nil {
				return
			}
		}
	}
}

func makeDir(dir string) error { return os.MkdirAll(dir, 0o700) }
