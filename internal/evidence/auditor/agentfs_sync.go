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
	// syncEvery is how often the AgentFS files are brought up to date: other
	// programs open them too.
	syncEvery = time.Second
	// Where many of them grow at once that takes its time, and the next round begins
	// the later: each is opened, committed and closed. This is the latest.
	syncLatest = 30 * time.Second
)

// syncAtOnce is how many tenants' files are written beside each other: one that
// has much to catch up with does not hold up the others, and disks do several
// things at once.
const syncAtOnce = 4

// tellAgain is how often the log says that nothing has changed about files that
// cannot be written, because somebody has them open perhaps.
const tellAgain = time.Minute

// fileSync keeps the AgentFS files behind the ledgers. The ledgers never wait
// for it.
type fileSync struct {
	dataDir string
	only    string // tenant whose files are written; empty: all
	writer  *agentfs.Writer
	logger  *slog.Logger

	mu      sync.Mutex // guards pending
	pending map[string]bool

	told   string // what the log says, the last time; used by run alone
	toldAt time.Time
}

func newFileSync(o Options, writer *agentfs.Writer) *fileSync {
	return &fileSync{dataDir: o.DataDir, only: o.Tenant, writer: writer, logger: o.Logger, pending: make(map[string]bool)}
}

// changed notes that the ledger of tenant has more.
func (s *fileSync) changed(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending[tenant] = true
}

// run brings the files up to date until ctx ends, and calls tick now and then.
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
				s.tell(ctx, err)
			}
			files.Reset(min(max(syncEvery, 4*time.Since(began)), syncLatest))
		}
	}
}

// tell logs that files were not written, and that they are again.
func (s *fileSync) tell(ctx context.Context, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == s.told && (err == nil || time.Since(s.toldAt) < tellAgain) {
		return
	}
	s.told, s.toldAt = text, time.Now()
	if err == nil {
		s.logger.InfoContext(ctx, "agentfs files are written again")
		return
	}
	s.logger.WarnContext(ctx, "agentfs files were not written", "error", err)
}

// all has every tenant's files looked at: some may be behind since the last stop.
func (s *fileSync) all(ctx context.Context) {
	tenants, err := Options{DataDir: s.dataDir, Tenant: s.only}.tenants()
	if err != nil {
		s.logger.WarnContext(ctx, "ledgers were not listed", "error", err)
	}
	for _, tenant := range tenants {
		s.changed(tenant)
	}
}

// sync brings the files of the tenants that changed up to date. Those that
// failed stay noted.
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
	for range min(syncAtOnce, len(tenants)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(tenants)); i = next.Add(1) - 1 {
				errs[i] = s.one(ctx, tenants[i])
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil { // of an end one word is enough
		return ctx.Err()
	}
	return errors.Join(errs...)
}

// one brings the files of a tenant up to date, and notes it again if that failed.
func (s *fileSync) one(ctx context.Context, tenant string) error {
	err := ctx.Err()
	if err == nil {
		err = s.tenant(ctx, tenant)
	}
	if err != nil && !errors.Is(err, ledger.ErrDamaged) { // which no second try mends
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

// records is a ledger as the AgentFS files see it: what is no event has no
// bytes, and neither has what was set apart or erased.
type records struct{ *ledger.Reader }

// AgentFSSource returns the records of a ledger as the AgentFS files read them.
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
