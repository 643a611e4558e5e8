package tracker

import (
	"cmp"
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

// Name is the name of the tracker's NATS consumer and of its outbox.
const Name = "tracker"

var schema = store.Schema(beads.Schema)

const stopTimeout = 10 * time.Second

// DefaultSettleTimeout is the value of [Options.SettleTimeout] if it is zero.
const DefaultSettleTimeout = time.Minute

// Options configures a tracker. Broker and DataDir are required.
type Options struct {
	Broker  *broker.Broker
	DataDir string
	Tenant  string       // empty means all tenants
	Drain   bool         // return after handling all events that were in the stream at the start
	Config  rules.Config // zero means the default
	Logger  *slog.Logger

	// OrderKey is the public key that verifies the signed instructions of an auditor, such as to
	// erase data. Empty means the key of the auditor in DataDir.
	OrderKey string

	// Backend is the name of the backend that stores the issues, [EmbeddedBackend] or [BDBackend].
	// Empty means EmbeddedBackend.
	Backend string
	// BD is the path of the Beads CLI. Empty means bd in PATH.
	BD string

	// SettleTimeout limits how long Run with Drain waits for a backend that accepts no changes.
	// Zero means DefaultSettleTimeout.
	SettleTimeout time.Duration

	Heartbeat time.Duration // of the outboxes, as in [publish.Options]

	// Progress is called with the position in the stream. While the tracker cannot read the stream,
	// Err contains the reason. All calls come from one goroutine.
	Progress func(consume.Progress)

	onHole func(consume.Gap) // receives ranges of messages that the stream lost before the tracker read them

	backend backend      // for tests
	stage   func(string) // for tests, called between the stages
}

// Validate returns an error for the first invalid option.
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
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.SettleTimeout <= 0 {
		o.SettleTimeout = DefaultSettleTimeout
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

// Run reads the stream and creates and updates issues until ctx ends. It then completes pending
// changes for at most ten seconds and returns nil. If another process uses the tracker's files, Run
// waits for it.
//
// With Drain, Run ends after the events that are in the stream at the start. It then decides about
// each failure that has waited long enough by the system clock.
func Run(ctx context.Context, opts Options) (err error) {
	if err := opts.Validate(); err != nil {
		return fmt.Errorf("tracker: %w", err)
	}
	opts = opts.withDefaults()
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
		return errors.Join(bindTenant(conn, opts.Tenant), store.SaveConfig(conn, opts.Config))
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
			opts.Logger.WarnContext(ctx, "decisions left in the outbox", "error", e)
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

func openOutbox(ctx context.Context, opts Options) (*publish.Publisher, error) {
	space := opts.Broker.Space()
	return publish.Open(ctx, opts.Broker.Conn(), publish.Options{
		Dir: filepath.Join(opts.DataDir, "outbox", Name), Journal: publish.JournalDir(opts.DataDir), Name: Name,
		Redactor: publish.NoRedaction, // decisions contain only names
		// A decision in the outbox counts as published, so a crash must not lose it.
		Durability: publish.DiskDurability, Full: publish.Block, Unique: true, Heartbeat: opts.Heartbeat,
		SubjectPrefix: space.Prefix, StreamPrefix: space.StreamPrefix, Logger: opts.Logger,
		Issuer: broker.Issuer(opts.DataDir, opts.Logger),
	})
}
