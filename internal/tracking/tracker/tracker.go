package tracker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/tracking/beads"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// Name is that of the tracker's consumer, of its outbox, and of what it makes.
const Name = "tracker"

// schema is that of the tracker's file: what was decided, and what the workspaces
// are known to hold.
var schema = store.Schema(beads.Schema)

// stopTimeout is how long a tracker that was told to stop settles what it has
// decided.
const stopTimeout = 10 * time.Second

// Options say what to track and where. Broker and DataDir are required.
type Options struct {
	Broker  *broker.Broker
	DataDir string
	Tenant  string       // only this tenant's events; empty means everybody's
	Drain   bool         // stop when all is done that was in the stream at the start
	Config  rules.Config // the zero Config is the default one
	Logger  *slog.Logger

	// OrderKey is the verifier key of the ledger whose orders to erase are obeyed,
	// where no auditor keeps it in DataDir.
	OrderKey string

	// Backend is [EmbeddedBackend], which is the default, or [BDBackend]; BD is where
	// the program of that is, by default bd in PATH.
	Backend, BD string

	// SettleTimeout is how long a drain goes on while the backend takes nothing; one
	// minute by default. Without Drain it is waited for.
	SettleTimeout time.Duration

	// Progress is told how the reading stands, and in Err what keeps the
	// tracker from going on. It is called from one goroutine.
	Progress func(consume.Progress)

	onHole func(consume.Hole) // told of messages that are gone before they were read

	backend backend      // tests only: instead of the embedded store
	stage   func(string) // tests only: called between the stages
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
	if o.SettleTimeout <= 0 {
		o.SettleTimeout = defaultSettle
	}
	if o.Progress == nil {
		o.Progress = func(consume.Progress) {}
	}
	if o.stage == nil {
		o.stage = func(string) {}
	}
	if o.Config.Complexity == 0 {
		o.Config = rules.DefaultConfig()
	}
	return o
}

// Run reads the stream and keeps issues until ctx ends; then it settles what it
// has decided, for a while, and returns nil. With Drain it returns nil once all
// is done that follows from what was in the stream at the start, and from the holds
// of failures being over that are by this machine's clock. It waits for another
// process that has the tracker's files.
func Run(ctx context.Context, opts Options) (err error) {
	if err := opts.Validate(); err != nil {
		return fmt.Errorf("tracker: %w", err)
	}
	opts = opts.withDefaults()
	// What is told to stop before it has begun ends well, unless it was to drain.
	fail := func(err error) error {
		if ctx.Err() != nil && !opts.Drain {
			return nil
		}
		return fmt.Errorf("tracker: %w", err)
	}
	db, err := projection.Open(ctx, store.File(opts.DataDir), schema, opts.Logger)
	if err != nil {
		return fail(err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.Tx(ctx, func(conn *sqlite.Conn) error {
		return errors.Join(claim(conn, opts.Tenant), store.KeepConfig(conn, opts.Config))
	})
	if err == nil {
		err = opts.useBackend(ctx, db)
	}
	if err != nil {
		return fail(err)
	}
	outbox, err := openOutbox(ctx, opts)
	if err != nil {
		return fail(err)
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
	s := newSettler(opts, db, outbox)
	r, err := newReader(ctx, opts, db, s)
	if err != nil {
		return fail(err)
	}
	if err := follow(ctx, opts, r, outbox); err != nil {
		return fmt.Errorf("tracker: %w", err)
	}
	return nil
}

// openOutbox opens the outbox of what the tracker publishes.
func openOutbox(ctx context.Context, opts Options) (*publish.Publisher, error) {
	space := opts.Broker.Space()
	return publish.Open(ctx, opts.Broker.Conn(), publish.Options{
		Dir: filepath.Join(opts.DataDir, "outbox", Name), Name: Name,
		Redactor: publish.NoRedaction, // decisions quote nothing of the events but names
		// Marked as published is what the outbox has: it must not lose it.
		Durability: publish.DiskDurability, Unique: true,
		SubjectPrefix: space.Prefix, StreamPrefix: space.StreamPrefix, Logger: opts.Logger,
	})
}
