package auditor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/ledger"
)

const (
	// keepEvery is how often a place gets the newest checkpoints.
	keepEvery = time.Second
	// keepLimit bounds one round of a place that does not answer.
	keepLimit = 10 * time.Second
)

// shelf is a place outside the ledgers where their newest checkpoints lie, one
// for each tenant.
type shelf interface {
	// name tells the place from others, in logs and reports.
	name() string
	// load returns the note that lies there, nil if none does, and its revision.
	load(ctx context.Context, tenant string) (signed []byte, revision uint64, err error)
	// store replaces what has that revision, and nothing else.
	store(ctx context.Context, tenant string, signed []byte, revision uint64) error
}

// keeper brings the newest checkpoints of the ledgers to one shelf, behind the
// ledgers' back: they never wait for it.
//
// What lies there is replaced only by a checkpoint of the same ledger, grown: a
// ledger that was cut off or rewritten does not wipe out the proof of it.
type keeper struct {
	dataDir string
	tenant  string // of all; empty: every one
	shelf   shelf
	key     note.Verifier
	logger  *slog.Logger

	mu      sync.Mutex // guards what follows
	pending map[string]bool
	failed  map[string]error // by tenant: why its checkpoint is not there
}

func newKeeper(o Options, key note.Verifier, s shelf) *keeper {
	return &keeper{
		dataDir: o.DataDir, tenant: o.Tenant, shelf: s, key: key, logger: o.Logger,
		pending: make(map[string]bool), failed: make(map[string]error),
	}
}

// changed notes that the ledger of tenant has a newer checkpoint.
func (k *keeper) changed(tenant string) {
	if k.tenant != "" && k.tenant != tenant {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pending[tenant] = true
}

// run keeps checkpoints until ctx ends.
func (k *keeper) run(ctx context.Context) {
	tenants, err := ledger.Tenants(LedgerDir(k.dataDir))
	if err != nil {
		k.logger.WarnContext(ctx, "ledgers were not listed", "error", err)
	}
	for _, tenant := range tenants { // some may have grown since the last stop
		k.changed(tenant)
	}
	clock := time.NewTicker(keepEvery)
	defer clock.Stop()
	for {
		k.round(ctx)
		select {
		case <-ctx.Done():
			return
		case <-clock.C:
		}
	}
}

// round brings every checkpoint that is newer. What fails is tried again.
func (k *keeper) round(ctx context.Context) {
	k.mu.Lock()
	tenants := slices.Sorted(maps.Keys(k.pending))
	clear(k.pending)
	k.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, keepLimit)
	defer cancel()
	for _, tenant := range tenants {
		k.done(ctx, tenant, k.keep(ctx, tenant))
	}
}

// done notes what came of a tenant's checkpoint, and logs it when that changed.
func (k *keeper) done(ctx context.Context, tenant string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.failed[tenant]
	if err == nil {
		if delete(k.failed, tenant); before != nil {
			k.logger.InfoContext(ctx, "checkpoints are kept outside the ledger again", "where", k.shelf.name(), "tenant", tenant)
		}
		return
	}
	k.failed[tenant] = fmt.Errorf("checkpoint of tenant %q is not kept in %s: %w", tenant, k.shelf.name(), err)
	k.pending[tenant] = true
	if before == nil {
		k.logger.ErrorContext(ctx, "a checkpoint is not kept outside the ledger",
			"where", k.shelf.name(), "tenant", tenant, "error", err)
	}
}

// failure returns why checkpoints are not on the shelf, nil when all are.
func (k *keeper) failure() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.failed) == 0 {
		return nil
	}
	first := k.failed[slices.Min(slices.Collect(maps.Keys(k.failed)))]
	if n := len(k.failed) - 1; n > 0 {
		return fmt.Errorf("%w (and those of %d more)", first, n)
	}
	return first
}

// keep brings the newest checkpoint of one ledger.
func (k *keeper) keep(ctx context.Context, tenant string) (err error) {
	r, err := ledger.OpenTenant(LedgerDir(k.dataDir), tenant)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	kept, revision, err := k.shelf.load(ctx, tenant)
	if err != nil {
		return err
	}
	newest, err := k.next(ctx, r, kept)
	if err != nil || newest == nil {
		return err
	}
	return k.shelf.store(ctx, tenant, newest, revision)
}

// ErrForked is wrapped when what is kept outside a ledger is not what the ledger
// was.
var ErrForked = errors.New("the ledger is not what it was when the kept checkpoint was signed")

// next returns the checkpoint that is to replace what is kept, nil when that is
// the newest, or says why nothing may replace it.
func (k *keeper) next(ctx context.Context, r *ledger.Reader, kept []byte) (newest []byte, err error) {
	err = r.Tree(ctx, func(signed []byte, hashes tlog.HashReader) error {
		now, err := ledger.OpenCheckpoint(signed, note.VerifierList(k.key))
		if err != nil {
			return err
		}
		if kept == nil {
			newest = signed
			return nil
		}
		then, err := ledger.OpenCheckpoint(kept, note.VerifierList(k.key))
		if err != nil {
			return fmt.Errorf("what lies there is not replaced: %w", err)
		}
		if bytes.Equal(kept, signed) {
			return nil
		}
		if err := continues(now, then, hashes); err != nil {
			return err
		}
		newest = signed
		return nil
	})
	return newest, err
}

// continues tells whether the ledger, which now stands at a checkpoint, was then
// at the other one.
func continues(now, then ledger.Checkpoint, hashes tlog.HashReader) error {
	if now.Tenant != then.Tenant {
		return fmt.Errorf("%w: it is of tenant %q", ErrForked, then.Tenant)
	}
	if now.Size < then.Size || now.Arrivals < then.Arrivals {
		return fmt.Errorf("%w: it had %d leaves, and has %d", ErrForked, then.Size, now.Size)
	}
	root, err := tlog.TreeHash(then.Size, hashes)
	if err != nil {
		return err
	}
	if root != then.Root {
		return fmt.Errorf("%w: the root of the first %d leaves is another one", ErrForked, then.Size)
	}
	return nil
}
