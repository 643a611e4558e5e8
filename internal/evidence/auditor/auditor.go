package auditor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/agentfs"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/tiles"
	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
)

const (
	durable        = "auditor"
	standbyDurable = "auditor-standby"

	// The ledgers of a batch are committed in parallel.
	signEvents  = 1000
	batchEvents = 32 * signEvents
	batchBytes  = 32 << 20
	batchLinger = 200 * time.Millisecond

	lastSync = 10 * time.Second
)

// Options are the settings of [Run].
type Options struct {
	Broker    *broker.Broker         // required
	DataDir   string                 // required; has the ledgers, keys and AgentFS files
	Tenant    string                 // empty means all
	Drain     bool                   // handle the messages that are in the stream at the start, then return
	Retention []ledger.RetentionRule // how long payloads are stored; the first matching rule counts, without one they stay
	Floor     time.Duration          // retention floor of all ledgers, in whole seconds; those with a higher one keep it
	Silence   time.Duration          // time after which a run counts as ended; 30 minutes by default

	// Signer is the place of the signing key for [writer.ParsePlace]. Empty is the present
	// place, or a file if there is no key.
	Signer string

	// CheckpointFile stores the newest checkpoints, best on a disk that the writers of
	// the ledgers cannot write to. The log and Progress report failures of it, of
	// Witnesses and of the bucket, which never block the ledgers.
	CheckpointFile anchor.File

	// KnownLedgers is the file in which the key is pinned for the user, see package pins.
	// Empty pins nothing.
	KnownLedgers string

	// Witnesses are asked to cosign the newest checkpoints.
	Witnesses *transparency.Policy

	// NoBucket turns off the broker's bucket of checkpoints. The bucket is at most a
	// second behind the ledger and has the lease of auditors with copies of one key.
	// Only the holder stores checkpoints.
	NoBucket bool

	// Standby makes this auditor the standby of another one. It needs its own data
	// directory and a copy of the other one's key.
	Standby bool

	// TilesListen is the address on which [tiles.Handler] serves the ledgers. Empty
	// means none.
	TilesListen  string
	TilesTenants []string // tenants that it serves; empty means Tenant

	// Admit returns an error for a tenant that gets no ledger. Its messages stay in the
	// stream. Nil accepts every tenant. It does not concern Tenant and existing ledgers.
	Admit func(tenant string) error

	// Policy changes with the tenants that Admit accepts. If it is the same as at the last
	// start, a flood of refused tenants does not make this one read the stream again.
	Policy string

	Reports Reports // to make every day

	CacheBytes int64 // of all open ledgers; 0 means their default

	Logger   *slog.Logger
	Progress func(consume.Progress)
	Now      func() time.Time // time.Now by default

	tooLong func() <-chan time.Time // tests; when a slow ledger gets a backlog
	tick    func() <-chan time.Time // tests; when to look for missing reports
	stream  ledger.Stream           // of a new state; see Rebuild
}

func (o Options) withDefaults() Options {
	if o.Silence <= 0 {
		o.Silence = verifier.DefaultSilence
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Progress == nil {
		o.Progress = func(consume.Progress) {}
	}
	if o.tooLong == nil {
		o.tooLong = func() <-chan time.Time { return time.After(patience) }
	}
	if o.tick == nil {
		o.tick = func() <-chan time.Time { return time.After(reportTick) }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// CheckStandby returns why o cannot be a standby at the broker with this URL, or nil.
func (o Options) CheckStandby(url string) error {
	switch {
	case !o.Standby:
	case o.NoBucket:
		return errors.New("a standby needs the bucket of checkpoints, which has the lease")
	case o.Drain:
		return errors.New("a standby waits for its lease and cannot drain")
	case url == "":
		return errors.New("a standby has another data directory than the auditor it stands by for: " +
			"name the broker of both with --nats-url")
	}
	return nil
}

func (o Options) durable() string {
	if o.Standby {
		return standbyDurable
	}
	return durable
}

func (o Options) tenants() ([]string, error) {
	all, err := ledger.Tenants(LedgerDir(o.DataDir))
	if o.Tenant == "" {
		return all, err
	}
	if slices.Contains(all, o.Tenant) {
		return []string{o.Tenant}, nil
	}
	return nil, nil
}

// LedgerDir returns the folder of the ledgers below a data directory.
func LedgerDir(dataDir string) string { return filepath.Join(dataDir, "ledger") }

// KeyDir returns the folder of the keys below a data directory.
func KeyDir(dataDir string) string { return filepath.Join(dataDir, "keys") }

// AgentFSDir returns the folder of the AgentFS files below a data directory.
func AgentFSDir(dataDir string) string { return filepath.Join(dataDir, "agentfs") }

// Run reads the stream into the ledgers and AgentFS files below o.DataDir. It returns
// when ctx ends or, with o.Drain, after the last message that was in the stream at the
// start. A clean stop returns nil. An interrupted drain is an error. Run waits while
// another process is the auditor of the data directory.
//
// Run suspends a damaged ledger and continues with the others. It reports the error,
// which wraps [ledger.ErrDamaged], to o.Progress and returns it at its end.
func Run(ctx context.Context, o Options) (err error) {
	o = o.withDefaults()
	if o.Broker == nil || o.DataDir == "" {
		return errors.New("auditor: options: Broker and DataDir are required")
	}
	if err := o.CheckpointFile.Validate(o.Tenant); err != nil {
		return fmt.Errorf("auditor: options: %w", err)
	}
	if err := anchor.ValidatePolicy(o.Witnesses); err != nil {
		return fmt.Errorf("auditor: options: %w", err)
	}
	if err := o.CheckStandby(o.Broker.URL()); err != nil {
		return fmt.Errorf("auditor: options: %w", err)
	}
	lock, err := acquire(ctx, o)
	if err != nil {
		return o.beforeServing(ctx, err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	s, err := open(ctx, o)
	if err != nil {
		return o.beforeServing(ctx, err)
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.ledgers.sendKeyChanges(ctx); err != nil {
		return o.beforeServing(ctx, err)
	}
	if s.tiles, err = listenTiles(ctx, o, s.anchors.StandsBy); err != nil {
		return o.beforeServing(ctx, err)
	}
	defer func() { err = errors.Join(err, s.tiles.Close()) }()
	s.files = newFileSync(o, agentfs.Open(AgentFSDir(o.DataDir), agentfs.Options{Logger: o.Logger}))
	return s.run(ctx)
}

func (o Options) beforeServing(ctx context.Context, err error) error {
	// A stop during the start is clean.
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || sqlite.ErrCode(err) == sqlite.ResultInterrupt) {
		if !o.Drain {
			return nil
		}
		err = ctx.Err()
	}
	return fmt.Errorf("auditor: %w", err)
}

func listenTiles(ctx context.Context, o Options, standsBy func() bool) (*tiles.Server, error) {
	if o.TilesListen == "" {
		return nil, nil
	}
	of := o.TilesTenants
	if len(of) == 0 && o.Tenant != "" {
		of = []string{o.Tenant}
	}
	return tiles.Listen(ctx, tiles.Options{
		Listen: o.TilesListen, Dir: LedgerDir(o.DataDir), Tenants: of, StandsBy: standsBy, Logger: o.Logger,
	})
}
