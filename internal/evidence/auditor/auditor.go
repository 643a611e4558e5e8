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

	// The ledgers of a batch are committed in parallel, with a commit for each
	// signEvents messages of one tenant. A batch holds messages of many tenants and may
	// be larger.
	signEvents  = 1000
	batchEvents = 32 * signEvents
	batchBytes  = 32 << 20
	batchLinger = 200 * time.Millisecond

	// lastSync limits how long the AgentFS files may catch up when the auditor stops.
	lastSync = 10 * time.Second
)

// Options are the settings of [Run].
type Options struct {
	Broker    *broker.Broker         // required
	DataDir   string                 // required; has the ledgers, keys and AgentFS files
	Tenant    string                 // only this tenant; empty means all
	Drain     bool                   // handle all messages that are in the stream at the start, then return
	Retention []ledger.RetentionRule // how long payloads are stored; the first matching rule counts, and without one they stay
	Silence   time.Duration          // how long a run is silent before it counts as ended; 30 minutes by default

	// CheckpointFile is a file that stores the newest checkpoints, best on a disk that
	// the writers of the ledgers cannot write to. Empty means none. Failures to write it
	// are logged and reported to Progress, and never block the ledgers.
	CheckpointFile anchor.File

	// Witnesses are asked to cosign the newest checkpoints; nil means none. If too few
	// of them do, that is logged and reported to Progress, and never blocks the ledgers.
	Witnesses *transparency.Policy

	// NoBucket turns off the broker's bucket of checkpoints. Otherwise the bucket stores
	// the newest checkpoints, at most a second behind the ledger. It also holds the
	// lease that auditors with copies of one key share. Only the holder of the lease
	// stores checkpoints. The others follow the stream as standbys. Failures of the
	// bucket are logged and reported to Progress, and never block the ledgers.
	NoBucket bool

	// Standby makes this auditor the standby of another one. It has its own data
	// directory and a copy of the other one's key. It takes over the lease when the
	// other auditor ends or stops renewing it.
	Standby bool

	// TilesListen is the address on which [tiles.Handler] serves the ledgers; empty
	// means none.
	TilesListen  string
	TilesTenants []string // the tenants that it serves; empty means Tenant

	CacheBytes int64 // memory for the caches of all open ledgers; 0 means their default

	Logger   *slog.Logger
	Progress func(consume.Progress)
	Now      func() time.Time // the clock; time.Now by default

	tooLong func() <-chan time.Time // tests; when a slow ledger gets a backlog
	stream  ledger.Stream           // the stream of a new state; see Rebuild
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

// durable names the consumer at the broker.
func (o Options) durable() string {
	if o.Standby {
		return standbyDurable
	}
	return durable
}

// tenants lists the tenants that have ledgers, or only o.Tenant.
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
// start. It returns nil on a clean stop, but an interrupted drain is an error. Run waits
// while another process is the auditor of the data directory.
//
// Run suspends the ledger of a tenant that is damaged, and continues with the others. It
// reports the error to o.Progress and returns it at its end. The error wraps
// [ledger.ErrDamaged].
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
	s.files = newFileSync(o, agentfs.Open(ctx, AgentFSDir(o.DataDir), agentfs.Options{Logger: o.Logger}))
	return s.run(ctx)
}

// beforeServing returns the result of Run after an error at the start.
func (o Options) beforeServing(ctx context.Context, err error) error {
	// A stop while Run waits for another process or reads its state is clean.
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || sqlite.ErrCode(err) == sqlite.ResultInterrupt) {
		if !o.Drain {
			return nil
		}
		err = ctx.Err()
	}
	return fmt.Errorf("auditor: %w", err)
}

// listenTiles opens o.TilesListen. It returns nil if that is empty.
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
