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

	// A ledger signs a checkpoint after at most signEvents messages. A batch has more, because the
	// ledgers of several tenants are committed in parallel.
	signEvents  = 1000
	batchEvents = 32 * signEvents
	batchBytes  = 32 << 20
	batchLinger = 200 * time.Millisecond

	lastSync = 10 * time.Second
)

// Options are the settings of [Run].
type Options struct {
	Broker  *broker.Broker // required
	DataDir string         // required; has the ledgers, keys and AgentFS files
	Tenant  string         // empty means all
	Drain   bool           // handle the messages that are in the stream at the start, then return
	// How long payloads are stored; the first matching rule applies, and payloads without a rule
	// are stored permanently.
	Retention []ledger.RetentionRule
	// Minimum retention in all ledgers, in whole seconds; a ledger with a higher floor keeps it.
	Floor time.Duration
	// Time without events after which a run counts as ended; 30 minutes by default.
	Silence time.Duration

	// Signer says where the signing key is, in the syntax of [writer.ParsePlace]. If Signer is
	// empty, the key stays where it is now, and a missing key is created as a file.
	Signer string

	// CheckpointFile stores the newest checkpoints. It should be on a disk that the writers of the
	// ledgers cannot write to. Failures of CheckpointFile, Witnesses and the bucket never block the
	// ledgers. The log and Progress report them.
	CheckpointFile anchor.File

	// KnownLedgers is the path of the file in which the key is pinned for the user. See package
	// pins. If it is empty, the key is not pinned.
	KnownLedgers string

	// Witnesses are the witnesses that cosign the newest checkpoints.
	Witnesses *transparency.Policy

	// NoBucket turns off the storage of checkpoints in the broker's bucket. The bucket is at most a
	// second behind the ledger. It also has the lease that auditors with copies of the same key
	// compete for. Only the holder of the lease stores checkpoints.
	NoBucket bool

	// Standby makes this auditor the standby of another one. It needs its own data
	// directory and a copy of the other one's key.
	Standby bool

	// TilesListen is the address on which [tiles.Handler] serves the ledgers. If it is empty, the
	// ledgers are not served.
	TilesListen  string
	TilesTenants []string // tenants whose ledgers are served; empty means Tenant

	// Admit decides about a tenant that has no ledger yet. If it returns an error, the tenant gets
	// no ledger and its messages stay in the stream. A nil Admit accepts every tenant. If Tenant is
	// set, Admit is not called.
	Admit func(tenant string) error

	// Policy is a text that changes when Admit starts to accept other tenants. It matters only
	// after so many tenants were refused that not all could be listed. If Policy is then the same
	// as at the last start, the auditor does not read the stream again for the unlisted tenants.
	Policy string

	Reports Reports // daily reports to make

	CacheBytes int64 // size of the caches of all open ledgers together; 0 means the default

	Logger   *slog.Logger
	Progress func(consume.Progress)
	Now      func() time.Time // time.Now by default

	tooLong   func() <-chan time.Time // for tests; fires when a slow ledger gets a backlog
	tick      func() <-chan time.Time // for tests; fires when to look for missing reports
	heartbeat time.Duration           // for tests; interval of the outbox of access records, 0 for the default
	stream    ledger.Stream           // stream for a state database that has none; see Rebuild
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

// CheckStandby returns nil if o is valid for a standby of the broker at url, or if o is not a
// standby. Otherwise it returns an error with the reason.
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

// LedgerDir returns the folder of the ledgers in a data directory.
func LedgerDir(dataDir string) string { return filepath.Join(dataDir, "ledger") }

// KeyDir returns the folder of the keys in a data directory.
func KeyDir(dataDir string) string { return filepath.Join(dataDir, "keys") }

// AgentFSDir returns the folder of the AgentFS files in a data directory.
func AgentFSDir(dataDir string) string { return filepath.Join(dataDir, "agentfs") }

// Run writes the messages of the stream into the ledgers and AgentFS files in o.DataDir. It returns
// nil when ctx ends. With o.Drain it returns after the last message that was in the stream at the
// start, and an interruption before that is an error. If another process is already the auditor of
// the data directory, Run waits until that process ends.
//
// If a ledger is damaged, Run suspends it and continues with the others. It reports the error,
// which wraps [ledger.ErrDamaged], to o.Progress and also returns it at the end.
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
	// If ctx ends during the start, that is a clean stop.
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
