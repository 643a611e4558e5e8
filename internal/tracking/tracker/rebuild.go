package tracker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
)

// ErrBeginning means that the stream no longer contains old events from which the tracker created
// issues.
var ErrBeginning = errors.New("the stream has lost its first messages")

// RebuildOptions configures [Rebuild].
type RebuildOptions struct {
	Options // Rebuild ignores Drain

	// Partial allows a rebuild even if the stream no longer contains all events on which the
	// tracker decided.
	Partial bool
}

// Rebuilt describes how [Rebuild] has changed the issues.
type Rebuilt struct {
	Issues int      `json:"issues"`
	Events uint64   `json:"events"`
	Gained []string `json:"gained"`
	Lost   []string `json:"lost"` // issues that no longer exist
	// Gone counts the events on which the tracker decided and that the stream no longer contains.
	// It is -1 if the old database is unreadable.
	Gone int64 `json:"gone"`
}

// Rebuild builds a new tracker file from the stream and replaces the old one. A crash leaves one of
// the two.
//
// Rebuild publishes nothing, keeps edits and texts by people, and does not repeat settled effects.
// The next tracker publishes decisions on events that had none before.
//
// If the stream has lost events with decisions, Rebuild changes nothing and returns an error that
// wraps [ErrBeginning], unless opts.Partial is set. Rebuild fails while a tracker runs on the data
// directory.
func Rebuild(ctx context.Context, opts RebuildOptions) (_ Rebuilt, err error) {
	if err := opts.Validate(); err != nil {
		return Rebuilt{}, fmt.Errorf("rebuild: %w", err)
	}
	opts.Options = opts.withDefaults()
	opts.Drain = true
	dir := filepath.Dir(store.File(opts.DataDir))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Rebuilt{}, fmt.Errorf("rebuild: %w", err)
	}
	lock, err := filelock.Try(store.File(opts.DataDir) + ".lock")
	if errors.Is(err, filelock.ErrHeld) {
		return Rebuilt{}, errors.New("rebuild: a tracker runs on this data directory, stop it first")
	}
	if err != nil {
		return Rebuilt{}, fmt.Errorf("rebuild: %w", err)
	}
	r := rebuilding{RebuildOptions: opts, old: store.File(opts.DataDir), fresh: filepath.Join(dir, "rebuild", filepath.Base(store.File("")))}
	err = errors.Join(r.run(ctx), lock.Unlock())
	if err == nil {
		err = r.export(ctx)
	}
	if err != nil {
		return Rebuilt{}, fmt.Errorf("rebuild: %w", err)
	}
	return r.done, nil
}

type rebuilding struct {
	RebuildOptions
	old, fresh string // paths
	hasOld     bool
	changed    []changedIssue
	done       Rebuilt
}

func (r *rebuilding) run(ctx context.Context) (err error) {
	if err := r.checkBeginning(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Dir(r.fresh)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(filepath.Dir(r.fresh))) }()
	db, err := projection.Open(ctx, r.fresh, schema, r.Logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Tx(ctx, r.begin); err != nil {
		return err
	}
	if err := r.fold(ctx, db); err != nil {
		return err
	}
	r.hasOld = closeLog(ctx, r.old)
	if err := r.carry(ctx, db); err != nil {
		return err
	}
	if err := r.compare(ctx, db); err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	return swap(r.fresh, r.old)
}

func (r *rebuilding) begin(conn *sqlite.Conn) error {
	return errors.Join(bindTenant(conn, r.Tenant), store.SaveConfig(conn, r.Config))
}

func (r *rebuilding) checkBeginning(ctx context.Context) error {
	stream, err := r.Broker.JetStream().Stream(ctx, r.Broker.Space().EventStream())
	if err != nil {
		return err
	}
	first := stream.CachedInfo().State.FirstSeq
	if first <= 1 || r.Partial {
		return nil
	}
	return fmt.Errorf("%w: it begins with message %d; issues from earlier events would be lost, and others would lose their first occurrences; "+
		"use --partial to rebuild from the events that are left", ErrBeginning, first)
}

func (r *rebuilding) fold(ctx context.Context, db *projection.DB) error {
	s := newSettler(r.Options, db, nil)
	reader, err := newReader(ctx, r.Options, db, s)
	if err != nil {
		return err
	}
	return consume.Run(ctx, r.Broker.JetStream(), consume.Options{
		Durable: Name, Space: r.Broker.Space(), Tenant: r.Tenant, Drain: true, Logger: r.Logger, RetryMax: maxReadRetry,
		Progress: func(p consume.Progress) {
			r.done.Events = p.Done
			r.Progress(p)
		},
	}, reader)
}

func (r *rebuilding) export(ctx context.Context) (err error) {
	db, err := projection.Open(ctx, r.old, schema, r.Logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := r.useBackend(ctx, db); err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s := newSettler(r.Options, db, nil)
	watching, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.endWhenStuck(watching, r.SettleTimeout, end) })
	err = s.settle(ctx)
	if err == nil {
		err = r.correct(ctx)
	}
	if err == nil {
		err = s.finish(ctx, false)
	}
	err = stuckCause(ctx, err)
	stop()
	wg.Wait()
	return err
}
