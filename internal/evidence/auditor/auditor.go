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

	// A ledger signs at least one checkpoint per signEvents messages. A batch can be larger,
	// because it contains messages of several tenants.
	signEvents  = 1000
	batchEvents = 32 * signEvents
	batchBytes  = 32 << 20
	batchLinger = 200 * time.Millisecond

	lastSync = 10 * time.Second
)

// Options are the settings of [Run].
type Options struct {
	Broker  *broker.Broker // required
	DataDir string         // required; ledgers, keys and AgentFS files
	Tenant  string         // empty means all tenants
	Drain   bool           // return after all messages that the stream has at the start
	// Retention says how long payloads are stored. The first matching rule applies. Other payloads
	// stay permanently.
	Retention []ledger.RetentionRule
	// Floor is the minimum retention, in whole seconds. A ledger with a higher floor keeps its
	// own.
	Floor time.Duration
	// Silence is the time without events after which a run counts as ended, 30 minutes by default.
	Silence time.Duration

	// Signer says where the signing key is, see [writer.ParsePlace]. Empty means the place of the
	// existing key, or a file for a new key.
	Signer string

	// CheckpointFile stores the newest checkpoints, so that a rewritten ledger is noticed. Users
	// who can write to the ledgers should not be able to write this file.
	CheckpointFile anchor.File

	// KnownLedgers is the file in which the ledger's key is pinned, see package pins. Empty means
	// that the key is not pinned.
	KnownLedgers string

	// Witnesses is the policy for the witnesses that cosign the newest checkpoints. nil means no
	// witnesses.
	Witnesses *transparency.Policy

	// Timestamps configure time stamps for the newest checkpoints. If the authority fails, the
	// ledgers continue.
	Timestamps anchor.Timestamps

	// NoBucket turns off the broker's bucket for checkpoints. Without the bucket, there is also no
	// lease among auditors with the same key.
	NoBucket bool

	// Standby makes this auditor a standby, with its own data directory and a copy of the key.
	Standby bool

	// TilesListen is the HTTP address at which the ledgers are served, see [tiles.Handler]. Empty
	// turns this off.
	TilesListen  string
	TilesTenants []string // served tenants; empty means Tenant

	// Admit decides whether a new tenant gets a ledger. If Admit returns an error, the tenant's
	// messages stay in the stream. nil accepts all tenants. Admit is not called if Tenant is set.
	Admit func(tenant string) error

	// Policy identifies the rules of Admit, and must change with them. Only a changed Policy makes
	// the auditor try all refused tenants again.
	Policy string

	Reports Reports

	CacheBytes int64 // cache size of all open ledgers; 0 means the default

	Logger   *slog.Logger
	Progress func(consume.Progress)
	Now      func() time.Time // time.Now by default

	Heartbeat time.Duration // of the outbox of access records, see [publish.Options]

	tooLong func() <-chan time.Time // for tests; fires when a ledger is too slow
	tick    func() <-chan time.Time // for tests; fires when missing reports are due
	stream  ledger.Stream           // stream of a new state database, see Rebuild
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

// CheckStandby returns an error if o.Standby is set and conflicts with another option or with url,
// the URL of the broker.
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

// Run writes the messages of the stream into the ledgers and AgentFS files in o.DataDir until ctx
// ends, and then returns nil. With o.Drain it returns after the messages that the stream has at the
// start, or with an error if ctx ends earlier. It waits for another auditor on the same data
// directory.
//
// A damaged ledger does not stop the others. Run returns its error, which wraps
// [ledger.ErrDamaged], at the end.
func Run(ctx context.Context, o Options) (err error) {
	o = o.withDefaults()
	if o.Broker == nil || o.DataDir == "" {
		return errors.New("auditor: options: Broker and DataDir are required")
	}
	if err := o.CheckpointFile.Validate(o.Tenant); err != nil {
		return fmt.Errorf("auditor: options: %w", err)
	}
	if err := errors.Join(anchor.ValidatePolicy(o.Witnesses), o.Timestamps.Validate()); err != nil {
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
	// An interrupted start counts as a clean stop. Only a drain fails, because it has not done its
	// work.
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
