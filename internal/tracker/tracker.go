package tracker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/beads"
	"github.com/hooktrail/hooktrail/internal/broker"
	"github.com/hooktrail/hooktrail/internal/consume"
	"github.com/hooktrail/hooktrail/internal/issues"
	"github.com/hooktrail/hooktrail/internal/projection"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// Name is that of the tracker's consumer, of its outbox, and of what it makes.
const Name = "tracker"

// stopTimeout is how long a tracker that was told to stop settles what it has
// decided.
const stopTimeout = 10 * time.Second

// Options say what to track and where. Broker and DataDir are required.
type Options struct {
	Broker  *broker.Broker
	DataDir string
	Tenant  string        // only this tenant's events; empty means everybody's
	Drain   bool          // stop when all is done that was in the stream at the start
	Config  issues.Config // the zero Config is the default one
	Logger  *slog.Logger

	// OrderKey is the verifier key of the ledger whose orders to erase are obeyed,
	// where no auditor keeps it in DataDir.
	OrderKey string

	// Progress is told how the reading stands, and in Err what keeps the
	// tracker from going on. It is called from one goroutine.
	Progress func(consume.Progress)

	backend backend      // tests only: instead of the embedded store
	stage   func(string) // tests only: called between the stages
}

// backend is what issues are kept in.
type backend interface {
	Workspace(tenant string) beads.Backend
	// Flush makes durable what workspaces were asked for; only then is it
	// settled.
	Flush(ctx context.Context) error
	// Export publishes the workspaces for others to read, some time later.
	Export(ctx context.Context) error
}

// Validate reports the first option that cannot be used.
func (o Options) Validate() error {
	switch {
	case o.Broker == nil:
		return errors.New("option Broker: missing")
	case o.DataDir == "":
		return errors.New("option DataDir: missing")
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Progress == nil {
		o.Progress = func(consume.Progress) {}
	}
	if o.stage == nil {
		o.stage = func(string) {}
	}
	if o.Config.Complexity == 0 {
		o.Config = issues.DefaultConfig()
	}
	return o
}

// Run reads the stream and keeps issues until ctx ends; then it settles what it
// has decided, for a while, and returns nil. With Drain it returns nil once all
// is done that follows from what was in the stream at the start. It waits for
// another process that has the tracker's files.
func Run(ctx context.Context, opts Options) (err error) {
	if err := opts.Validate(); err != nil {
		return fmt.Errorf("tracker: %w", err)
	}
	opts = opts.withDefaults()
	db, err := projection.Open(ctx, File(opts.DataDir), schema, opts.Logger)
	if errors.Is(err, context.Canceled) && !opts.Drain {
		return nil // told to stop while another process had the files
	}
	if err != nil {
		return fmt.Errorf("tracker: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Tx(ctx, func(conn *sqlite.Conn) error { return claim(conn, opts.Tenant) }); err != nil {
		return fmt.Errorf("tracker: %w", err)
	}
	if opts.backend == nil {
		store := beads.NewStore(db, filepath.Join(opts.DataDir, "beads"))
		if err := store.Recover(ctx); err != nil {
			return fmt.Errorf("tracker: %w", err)
		}
		opts.backend = store
	}
	space := opts.Broker.Space()
	outbox, err := publish.Open(ctx, opts.Broker.Conn(), publish.Options{
		Dir: filepath.Join(opts.DataDir, "outbox", Name), Name: Name,
		Redactor: publish.NoRedaction, // decisions quote nothing of the events but names
		// Marked as published is what the outbox has: it must not lose it.
		Durability: publish.DiskDurability, Unique: true,
		SubjectPrefix: space.Prefix, StreamPrefix: space.StreamPrefix, Logger: opts.Logger,
	})
	if err != nil {
		return fmt.Errorf("tracker: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		if e := outbox.Close(closing); e != nil {
			// What waits stays in the outbox for the next start.
			opts.Logger.WarnContext(ctx, "decisions wait in the outbox", "error", e)
			if opts.Drain {
				err = errors.Join(err, fmt.Errorf("tracker: %w", e))
			}
		}
	}()
	return follow(ctx, opts, db, newSettler(opts, db, outbox))
}

// follow reads the stream beside the settler, and settles the rest when the
// reading has ended.
func follow(ctx context.Context, opts Options, db *projection.DB, s *settler) error {
	marks, err := db.LoadMarks(ctx)
	if err != nil {
		return fmt.Errorf("tracker: %w", err)
	}
	reader := &reader{db: db, marks: marks, opts: opts, settler: s}
	if err := reader.checkKept(ctx); err != nil {
		return fmt.Errorf("tracker: %w", err)
	}
	settling, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { s.run(settling) })
	err = consume.Run(ctx, opts.Broker.JetStream(), consume.Options{
		Durable: Name, Space: opts.Broker.Space(), Tenant: opts.Tenant, Drain: opts.Drain, Logger: opts.Logger,
		Progress: func(p consume.Progress) {
			s.reached(p)
			if p.Err == nil {
				p.Err = s.trouble()
			}
			opts.Progress(p)
		},
		// What the old stream had is decided, and no event is decided on twice.
		OnStreamChanged: func(reason string) error {
			opts.Logger.WarnContext(ctx, "tracking went on in another stream", "reason", reason)
			return nil
		},
	}, reader)
	stop()
	wg.Wait()
	if err != nil {
		return fmt.Errorf("tracker: %w", err)
	}
	// A drain has no deadline of its own; after a stop there is one.
	if ctx.Err() != nil || !opts.Drain {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
	}
	err = s.finish(ctx, opts.Drain)
	if err != nil && !opts.Drain {
		opts.Logger.WarnContext(ctx, "issues wait to be settled", "error", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("tracker: %w", err)
	}
	return nil
}

// reader is the tracker's projection of the stream: the state and what was
// decided.
type reader struct {
	db      *projection.DB
	marks   *consume.Marks
	opts    Options
	settler *settler
}

// Position implements [consume.Projection].
func (r *reader) Position(ctx context.Context) (consume.Position, error) { return r.db.Position(ctx) }

// Apply implements [consume.Projection]. While the backend takes nothing, it
// takes nothing either.
func (r *reader) Apply(ctx context.Context, messages []consume.Message, next consume.Position) error {
	if err := r.settler.trouble(); errors.Is(err, beads.ErrUnavailable) {
		r.settler.hurry()
		return err
	}
	var b *batch
	err := r.db.Commit(ctx, next, r.marks, func(conn *sqlite.Conn) error {
		b = r.batch(conn)
		for _, m := range messages {
			if err := b.fold(m); err != nil {
				return err
			}
		}
		r.opts.stage("folded")
		return b.save()
	})
	if err != nil {
		return err
	}
	r.opts.stage("committed")
	r.note(ctx, b)
	r.settler.hurry()
	return nil
}

func (r *reader) batch(conn *sqlite.Conn) *batch {
	return &batch{conn: conn, config: r.opts.Config, marks: r.marks, loaded: make(map[[3]string]bool), orderKey: r.opts.orderKey, keyOrders: r.opts.keyOrders}
}

// checkKept carries out what was ordered while no key was there, if one is.
func (r *reader) checkKept(ctx context.Context) error {
	var b *batch
	err := r.db.Tx(ctx, func(conn *sqlite.Conn) error {
		b = r.batch(conn)
		return b.checkKept()
	})
	if err == nil {
		r.note(ctx, b)
	}
	return err
}

// note passes on what a batch did about orders, now that it is committed.
func (r *reader) note(ctx context.Context, b *batch) {
	if b.erased {
		r.settler.scrub.Store(true)
		r.opts.Logger.InfoContext(ctx, "texts of issues were erased by order")
	}
	if b.unchecked {
		r.opts.Logger.ErrorContext(ctx, "an order about evidence came that no key is there to check: it waits; "+
			"start the tracker with --order-key, the auditor's ledger.pub")
	}
}
