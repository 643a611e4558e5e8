package tracker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
)

// ErrBeginning is wrapped when the stream does not have all that the issues were
// made from.
var ErrBeginning = errors.New("the stream does not have its beginning any more")

// RebuildOptions are the settings of [Rebuild].
type RebuildOptions struct {
	Options // Drain and SettleTimeout have no part in it

	// Partial takes what the stream has, where that is not all.
	Partial bool
}

// Rebuilt is what became of the issues.
type Rebuilt struct {
	Issues int      `json:"issues"`
	Events uint64   `json:"events"` // of the stream, that were read
	Gained []string `json:"gained"` // ids of issues that were not there before
	Lost   []string `json:"lost"`   // ids of issues that are not there any more
	// Gone is how many events were decided on before that the stream does not have
	// any more; -1: what was there before cannot be read.
	Gone int64 `json:"gone"`
}

// Rebuild makes the tracker's file anew from the stream, under the configuration
// of opts, in a file of its own, and puts it in the place of the old one when it is
// complete. A crash leaves the old or the new one.
//
// Nothing is published: what was decided differs only if the configuration does.
// Decisions on events that nobody had decided on are published by the next tracker.
// What people did comes from the stream like everything else; what they wrote into
// issues stays. The backend is asked only for what it was not asked for before.
//
// Where the stream does not have all events that were decided on, nothing is
// changed and the error wraps [ErrBeginning], unless opts.Partial says otherwise.
// While a tracker is at work on the data directory, Rebuild refuses.
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
		return Rebuilt{}, errors.New("rebuild: a tracker is at work on this data directory: stop it first")
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

// rebuilding is one call of Rebuild.
type rebuilding struct {
	RebuildOptions
	old, fresh string // paths
	hasOld     bool   // what was there before can be read
	moved      []movedIssue
	done       Rebuilt
}

// run makes the fresh file and puts it in place. The lock of the old one is held.
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
	return errors.Join(claim(conn, r.Tenant), store.KeepConfig(conn, r.Config))
}

// checkBeginning looks whether the stream has its first message.
func (r *rebuilding) checkBeginning(ctx context.Context) error {
	stream, err := r.Broker.JetStream().Stream(ctx, r.Broker.Space().EventStream())
	if err != nil {
		return err
	}
	first := stream.CachedInfo().State.FirstSeq
	if first <= 1 || r.Partial {
		return nil
	}
	return fmt.Errorf("%w: it begins with message %d; issues that only earlier events made would be lost, and others would forget when they "+
		"began and how often they came; --partial rebuilds from what is left", ErrBeginning, first)
}

// fold reads all of the stream, and settles and publishes nothing.
func (r *rebuilding) fold(ctx context.Context, db *projection.DB) error {
	s := newSettler(r.Options, db, nil)
	reader, err := newReader(ctx, r.Options, db, s)
	if err != nil {
		return err
	}
	return consume.Run(ctx, r.Broker.JetStream(), consume.Options{
		Durable: Name, Space: r.Broker.Space(), Tenant: r.Tenant, Drain: true, Logger: r.Logger, RetryMax: readRetryMost,
		Progress: func(p consume.Progress) {
			r.done.Events = p.Done
			r.Progress(p)
		},
	}, reader)
}

// export settles what the backend was not asked for before, and writes the files
// of the workspaces.
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
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.watch(watching, r.SettleTimeout, end)
	}()
	err = s.settle(ctx)
	if err == nil {
		err = r.correct(ctx)
	}
	if err == nil {
		err = s.finish(ctx, false)
	}
	err = because(ctx, err)
	stop()
	<-ended
	return err
}
