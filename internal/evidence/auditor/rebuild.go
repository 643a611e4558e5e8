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

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/agentfs"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
)

// RebuildOptions are the settings of [Rebuild].
type RebuildOptions struct {
	Broker  *broker.Broker // required unless AgentFS is set
	DataDir string         // required
	Tenant  string         // empty means all tenants

	// Admit is like [Options.Admit], but must accept all tenants that already have a ledger.
	Admit func(tenant string) error

	// From lists ledger files to start from, one per tenant. They contain records that the stream
	// may no longer have.
	From []string
	// AgentFS limits the rebuild to the AgentFS files.
	AgentFS bool

	Logger *slog.Logger
	// Progress gets the name of the current step. In the step "read", done and total count
	// messages. In later steps, they count tenants.
	Progress func(what string, done, total uint64)
}

// Rebuilt describes the new ledger of one tenant after [Rebuild].
type Rebuilt struct {
	Tenant     string    `json:"tenant"`
	Leaves     int64     `json:"leaves"`
	Root       string    `json:"root"`
	Checkpoint time.Time `json:"checkpoint"`
	// Compared describes the checkpoint of the old ledger that the new ledger continues. Empty
	// means that there was none.
	Compared string   `json:"compared,omitempty"`
	Kept     []string `json:"kept,omitempty"` // AgentFS files with rows of other tools
}

// ErrLess means that a rebuilt ledger lacks records of the old ledger.
var ErrLess = errors.New("the rebuilt ledger does not match the old one")

// Rebuild builds the ledgers and AgentFS files from the stream, and replaces the old files when all
// are complete. After a crash, the next auditor or Rebuild completes or undoes it. Rebuild fails
// while an auditor runs on the data directory.
//
// Rows of other tools stay in the AgentFS files. Nothing is replaced if a tool writes meanwhile,
// with an error that wraps [agentfs.ErrChanged], or if a new ledger does not continue the old one,
// with an error that wraps [ErrLess].
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
		return nil, errors.New("rebuild: options: AgentFS excludes From, the files are written from the current ledgers")
	}
	lock, err := tryLock(o.DataDir, "an auditor runs on this data directory: stop it first")
	if err != nil {
		return nil, fmt.Errorf("rebuild: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	r := &rebuilding{RebuildOptions: o, staging: stagingOf(o.DataDir), marks: map[string]agentfs.Mark{}}
	if err := r.run(ctx); err != nil {
		return nil, fmt.Errorf("rebuild: %w", err)
	}
	return r.done, nil
}

type rebuilding struct {
	RebuildOptions
	staging staging
	key     note.Verifier
	marks   map[string]agentfs.Mark // version of each AgentFS file when its rows were copied
	done    []Rebuilt
}

func (r *rebuilding) run(ctx context.Context) (err error) {
	if err := r.staging.finish(ctx, r.Logger); err != nil {
		return err
	}
	key, err := openKey(ctx, Options{DataDir: r.DataDir, Logger: r.Logger})
	if err != nil {
		return err
	}
	if r.key, _, err = ledger.ParseVerifier(key.Public()); err != nil {
		return err
	}
	if err := r.staging.create(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.staging.remove()) }()
	source := r.DataDir
	if !r.AgentFS {
		source = r.staging.fresh()
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
	return r.staging.swap(ctx, r.Logger)
}

func (r *rebuilding) ledgers(ctx context.Context) error {
	for _, path := range r.From {
		if err := r.copyFrom(ctx, path); err != nil {
			return fmt.Errorf("start with %s: %w", path, err)
		}
	}
	if err := r.readStream(ctx); err != nil {
		return err
	}
	tenants, err := Options{DataDir: r.staging.fresh(), Tenant: r.Tenant}.tenants()
	if err != nil {
		return err
	}
	old, err := Options{DataDir: r.DataDir, Tenant: r.Tenant}.tenants()
	if err != nil {
		r.Logger.WarnContext(ctx, "ledgers not listed", "error", err)
	}
	for _, tenant := range old {
		if !slices.Contains(tenants, tenant) {
			return fmt.Errorf("%w: the stream no longer has messages of tenant %q (%s)", ErrLess, tenant, r.advice(tenant))
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

func (r *rebuilding) copyFrom(ctx context.Context, path string) error {
	report, err := verifier.Verify(ctx, path, verifier.Options{Key: r.key})
	if err != nil {
		return err
	}
	if report.Integrity != verifier.Verified {
		return fmt.Errorf("%w: %s", ledger.ErrDamaged, report.Problems[0])
	}
	if r.Tenant != "" && r.Tenant != report.Tenant {
		return fmt.Errorf("it belongs to tenant %q", report.Tenant)
	}
	out, err := ledger.Path(LedgerDir(r.staging.fresh()), report.Tenant)
	if err != nil {
		return err
	}
	if err := makeDir(filepath.Dir(out)); err != nil {
		return err
	}
	if _, err := os.Stat(out); err == nil {
		return fmt.Errorf("tenant %q already has a ledger to start with", report.Tenant)
	}
	return ledger.Copy(ctx, path, out)
}

func (r *rebuilding) readStream(ctx context.Context) error {
	o := Options{
		Broker: r.Broker, DataDir: r.staging.fresh(), Tenant: r.Tenant, Drain: true, NoBucket: true, Logger: r.Logger, Admit: r.Admit,
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
	return r.staging.add(filepath.Join("ledger", filepath.Base(s.state.db.Path())))
}

func (r *rebuilding) oldStream(ctx context.Context) (s ledger.Stream, err error) {
	o := Options{DataDir: r.DataDir, Tenant: r.Tenant}
	tenants, err := o.tenants()
	if err != nil {
		r.Logger.WarnContext(ctx, "ledgers not listed", "error", err)
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

func (r *rebuilding) compare(ctx context.Context, tenant string) (one Rebuilt, err error) {
	opts := verifier.Options{Key: r.key, Tenant: tenant}
	if old, err := ledger.OpenTenant(LedgerDir(r.DataDir), tenant); err == nil {
		treeErr := old.Tree().Read(ctx, func(signed []byte, _ tlog.HashReader) error {
			opts.Anchored = []verifier.Anchored{{From: "the old ledger", Note: signed}}
			return nil
		})
		if err := errors.Join(treeErr, old.Close()); err != nil {
			r.Logger.WarnContext(ctx, "old ledger not compared", "tenant", tenant, "error", err)
		}
	}
	path, err := ledger.Path(LedgerDir(r.staging.fresh()), tenant)
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
	return one, r.staging.add(filepath.Join("ledger", filepath.Base(filepath.Dir(path))))
}

func (r *rebuilding) advice(tenant string) string {
	path, err := ledger.Path(LedgerDir(r.DataDir), tenant)
	if err != nil {
		path = "LEDGER"
	}
	return fmt.Sprintf("start with the old ledger or a copy of it: --from %s; or move that ledger away "+
		"to rebuild without those records", path)
}
