package auditor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/agentfs"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/platform/filelock"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
)

// RebuildOptions are the settings of [Rebuild].
type RebuildOptions struct {
	Broker  *broker.Broker // the stream; required but for AgentFS
	DataDir string         // required
	Tenant  string         // only this one's; empty: all
	// From are ledgers to begin with, one of a tenant at most: what is older than
	// the stream comes from there. They are checked first, and may be those of the
	// data directory itself.
	From []string
	// AgentFS has only the AgentFS files written anew, from the ledgers as they are.
	AgentFS bool

	Logger   *slog.Logger
	Progress func(what string, done, total uint64) // of the stream's messages, then of tenants
}

// Rebuilt is what became of one tenant.
type Rebuilt struct {
	Tenant     string    `json:"tenant"`
	Leaves     int64     `json:"leaves"`
	Root       string    `json:"root"`
	Checkpoint time.Time `json:"checkpoint"`
	// Compared says which checkpoint of the ledger before it the new one agrees
	// with; empty: there was none that could be read.
	Compared string   `json:"compared,omitempty"`
	Kept     []string `json:"kept,omitempty"` // AgentFS files with rows of other tools, which were kept
}

// ErrLess is wrapped when what was built does not go on from what was there: the
// stream does not have all that the ledger has.
var ErrLess = errors.New("what was rebuilt is not what the ledger was")

// Rebuild makes the ledgers, with their indexes and checkpoints, and the AgentFS
// files anew from the stream, in a folder of their own, and puts them in the place
// of the old ones when all are complete: until then those stay as they are, and
// whoever reads them sees nothing of what an order further down the stream erases.
// A crash in between leaves the old or the new ones; the next start of an auditor
// or of Rebuild finishes what was begun or takes it away. Rows that other tools
// wrote into AgentFS files are kept; when one writes into a file meanwhile, nothing is
// put in place, and the error wraps [agentfs.ErrWritten].
//
// A rebuilt ledger has to agree with the newest checkpoint of the one before it,
// where that can be read: otherwise nothing is put in place, and the error wraps
// [ErrLess]. While an auditor is at work on the data directory, Rebuild refuses.
func Rebuild(ctx context.Context, o RebuildOptions) (done []Rebuilt, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Progress == nil {
		o.Progress = func(string, uint64, uint64) {}
	}
	switch {
	case o.DataDir == "" || o.Broker == nil && !o.AgentFS:
		return nil, errors.New("rebuild: options: Broker and DataDir are required")
	case o.AgentFS && len(o.From) > 0:
		return nil, errors.New("rebuild: options: AgentFS files are written from the ledgers in place, not From others")
	}
	if err := makeDir(LedgerDir(o.DataDir)); err != nil {
		return nil, fmt.Errorf("rebuild: %w", err)
	}
	lock, err := filelock.Try(filepath.Join(LedgerDir(o.DataDir), lockName))
	if errors.Is(err, filelock.ErrHeld) {
		return nil, errors.New("rebuild: an auditor is at work on this data directory: stop it first")
	}
	if err != nil {
		return nil, fmt.Errorf("rebuild: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	r := &rebuilding{RebuildOptions: o, place: placeOf(o.DataDir), marks: map[string]agentfs.Mark{}}
	if err := r.run(ctx); err != nil {
		return nil, fmt.Errorf("rebuild: %w", err)
	}
	return r.done, nil
}

// rebuilding is one call of Rebuild, which holds the auditor's lock.
type rebuilding struct {
	RebuildOptions
	place place
	key   *writer.Key
	marks map[string]agentfs.Mark // of AgentFS files: as they were when they were looked at
	done  []Rebuilt
}

func (r *rebuilding) run(ctx context.Context) (err error) {
	if err := r.place.settle(ctx, r.Logger); err != nil {
		return err
	}
	if r.key, err = openKey(ctx, Options{DataDir: r.DataDir, Logger: r.Logger}); err != nil {
		return err
	}
	if err := r.place.make(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.place.remove()) }()
	source := r.DataDir
	if !r.AgentFS {
		source = r.place.fresh()
		if err := r.ledgers(ctx); err != nil {
			return err
		}
	}
	if err := r.agentFiles(ctx, source); err != nil {
		return err
	}
	if err := r.unwritten(ctx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.place.swap(ctx, r.Logger)
}

// ledgers builds the ledgers of the fresh folder and compares them with the old.
func (r *rebuilding) ledgers(ctx context.Context) error {
	for _, path := range r.From {
		if err := r.copyFrom(ctx, path); err != nil {
			return fmt.Errorf("begin with %s: %w", path, err)
		}
	}
	if err := r.fold(ctx); err != nil {
		return err
	}
	tenants, err := Options{DataDir: r.place.fresh(), Tenant: r.Tenant}.tenants()
	if err != nil {
		return err
	}
	old, err := Options{DataDir: r.DataDir, Tenant: r.Tenant}.tenants()
	if err != nil {
		r.Logger.WarnContext(ctx, "ledgers were not read", "error", err)
	}
	for _, tenant := range old {
		if !slices.Contains(tenants, tenant) {
			return fmt.Errorf("%w: the stream has nothing of tenant %q any more (%s)", ErrLess, tenant, r.advice(tenant))
		}
	}
	for i, tenant := range tenants {
		r.Progress("verify", uint64(i), uint64(len(tenants)))
		one, err := r.compare(ctx, tenant)
		if err != nil {
			return err
		}
		r.done = append(r.done, one)
	}
	return nil
}

// copyFrom checks a ledger and copies it into the fresh folder.
func (r *rebuilding) copyFrom(ctx context.Context, path string) error {
	key, _, err := ledger.ParseVerifier(r.key.Public())
	if err != nil {
		return err
	}
	report, err := verifier.Verify(ctx, path, verifier.Options{Key: key})
	if err != nil {
		return err
	}
	if report.Integrity != verifier.Verified {
		return fmt.Errorf("%w: %s", ledger.ErrDamaged, report.Problems[0])
	}
	if r.Tenant != "" && r.Tenant != report.Tenant {
		return fmt.Errorf("it is the ledger of tenant %q", report.Tenant)
	}
	out, err := ledger.Path(LedgerDir(r.place.fresh()), report.Tenant)
	if err != nil {
		return err
	}
	if err := makeDir(filepath.Dir(out)); err != nil {
		return err
	}
	if _, err := os.Stat(out); err == nil {
		return fmt.Errorf("another ledger of tenant %q was named before it", report.Tenant)
	}
	return ledger.Copy(ctx, path, out)
}

// fold reads the stream into the fresh folder.
func (r *rebuilding) fold(ctx context.Context) error {
	o := Options{
		Broker: r.Broker, DataDir: r.place.fresh(), Tenant: r.Tenant, Drain: true, NoBucket: true, Logger: r.Logger,
		Progress: func(p consume.Progress) { r.Progress("read", p.Position.Sequence, p.Target) },
	}.withDefaults()
	var err error
	if o.stream, err = r.oldStream(ctx); err != nil {
		return err
	}
	s, err := open(ctx, o)
	if err != nil {
		return err
	}
	if err = consume.Run(ctx, r.Broker.JetStream(), s.consumer(), s.projector); err == nil {
		err = s.ledgers.finish(ctx)
	}
	if err := errors.Join(err, s.ledgers.failure(), s.close()); err != nil {
		return err
	}
	return r.place.take(filepath.Join("ledger", filepath.Base(s.state.db.Path())))
}

// oldStream returns the stream that the present ledgers were fed from last, so
// that the new ones count streams as those did.
func (r *rebuilding) oldStream(ctx context.Context) (s ledger.Stream, err error) {
	o := Options{DataDir: r.DataDir, Tenant: r.Tenant}
	tenants, err := o.tenants()
	if err != nil {
		r.Logger.WarnContext(ctx, "ledgers were not read", "error", err)
	}
	for _, tenant := range tenants {
		at, err := newestPosition(ctx, o, tenant)
		if err != nil && !errors.Is(err, ledger.ErrDamaged) {
			return s, err
		}
		if err == nil && at.Epoch > s.Epoch {
			s = ledger.Stream{Epoch: at.Epoch, Created: at.Stream}
		}
	}
	return s, nil
}

// compare verifies a new ledger, against the newest checkpoint of the old one.
func (r *rebuilding) compare(ctx context.Context, tenant string) (one Rebuilt, err error) {
	key, _, err := ledger.ParseVerifier(r.key.Public())
	if err != nil {
		return one, err
	}
	opts := verifier.Options{Key: key, Tenant: tenant}
	if old, err := ledger.OpenTenant(LedgerDir(r.DataDir), tenant); err == nil {
		treeErr := old.Tree().Read(ctx, func(signed []byte, _ tlog.HashReader) error {
			opts.Anchored = []verifier.Anchored{{From: "the ledger before", Note: signed}}
			return nil
		})
		if err := errors.Join(treeErr, old.Close()); err != nil {
			r.Logger.WarnContext(ctx, "the ledger before cannot be compared with", "tenant", tenant, "error", err)
		}
	}
	path, err := ledger.Path(LedgerDir(r.place.fresh()), tenant)
	if err != nil {
		return one, err
	}
	report, err := verifier.Verify(ctx, path, opts)
	if err != nil {
		return one, err
	}
	if report.Integrity != verifier.Verified {
		return one, fmt.Errorf("tenant %q: %w: %s", tenant, ledger.ErrDamaged, report.Problems[0])
	}
	one = Rebuilt{Tenant: tenant, Leaves: report.Leaves, Root: report.Checkpoint.Root, Checkpoint: report.Checkpoint.Time}
	for _, k := range report.Anchored {
		switch {
		case k.Diverged:
			return one, fmt.Errorf("tenant %q: %w: %s (%s)", tenant, ErrLess, k.Reason, r.advice(tenant))
		case !k.Unusable:
			one.Compared = fmt.Sprintf("checkpoint of %s, %d leaves", k.Time.Format(time.RFC3339), k.Size)
		}
	}
	return one, r.place.take(filepath.Join("ledger", filepath.Base(filepath.Dir(path))))
}

// advice says what to do when the stream does not have what a tenant's ledger has.
func (r *rebuilding) advice(tenant string) string {
	path, err := ledger.Path(LedgerDir(r.DataDir), tenant)
	if err != nil {
		path = "LEDGER"
	}
	return fmt.Sprintf("begin with a ledger that has it, the one in place or a copy: --from %s; or, to have it without, "+
		"move that ledger away first", path)
}
