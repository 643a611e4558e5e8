package auditor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
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
	durable = "auditor"
	standby = "auditor-standby" // the durable of one that stands by

	// What came of one tenant is signed when it is this much or this old, whichever
	// comes first. A batch holds more, of many tenants: each commit costs one of
	// them the time that the disk takes, whatever it holds.
	signEvents  = 1000
	batchEvents = 32 * signEvents
	batchBytes  = 32 << 20
	batchLinger = 200 * time.Millisecond

	// What the AgentFS files get to catch up when the auditor stops.
	lastSync = 10 * time.Second
)

// Options are the settings of [Run].
type Options struct {
	Broker  *broker.Broker         // required
	DataDir string                 // required; ledgers, keys and AgentFS files lie below it
	Tenant  string                 // only this tenant's messages; empty means all
	Drain   bool                   // handle all up to the stream's last message at start, then return
	Keep    []ledger.RetentionRule // how long payloads are kept, by class; the first rule that fits counts, and without one all is kept
	Silence time.Duration          // how long a run is silent before it counts as ended; 30 minutes by default

	// CheckpointFile is where the newest checkpoints are kept besides, best on a
	// disk that whoever writes to the ledgers cannot write to; empty is nowhere.
	// A file that cannot be written is told in the log and in Progress, and holds
	// nothing up.
	CheckpointFile anchor.File

	// Witnesses are asked to cosign the newest checkpoints; nil asks nobody. Where
	// too few of them do, it is told in the log and in Progress, and holds nothing up.
	Witnesses *transparency.Policy

	// NoBucket leaves the broker's bucket of checkpoints alone. Otherwise the newest
	// ones are kept there, at most a second behind the ledger, and auditors with
	// copies of one key take turns: one keeps checkpoints, the others follow the
	// stream and stand by. A bucket that cannot be used is told in the log and in
	// Progress, and holds nothing up.
	NoBucket bool

	// Standby makes this the auditor that stands by for another one with a data
	// directory of its own, of whose key it needs a copy: it takes its turn when that
	// one ends, or has stopped answering for [checkpoints.Patience].
	Standby bool

	// TilesListen is the address on which [tiles.Handler] answers while the auditor
	// runs; empty is none.
	TilesListen string

	Logger   *slog.Logger
	Progress func(consume.Progress)
	Now      func() time.Time // the clock; time.Now by default

	CacheBytes   int64    // memory for the caches of all open ledgers; 0 is the default of the ledgers
	TilesTenants []string // tenants whose ledgers TilesListen serves; empty means Tenant

	tooLong func() <-chan time.Time // tests; when a ledger that is written to is set aside
	stream  ledger.Stream           // that a state which is new begins with; see Rebuild
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

// LedgerDir returns the folder of the ledgers below a data directory.
func LedgerDir(dataDir string) string { return filepath.Join(dataDir, "ledger") }

// KeyDir returns the folder of the keys below a data directory.
func KeyDir(dataDir string) string { return filepath.Join(dataDir, "keys") }

// AgentFSDir returns the folder of the AgentFS files below a data directory.
func AgentFSDir(dataDir string) string { return filepath.Join(dataDir, "agentfs") }

// Run reads the stream into the ledgers and AgentFS files below o.DataDir until
// ctx ends, or, with o.Drain, until what was there at the start is handled. It
// returns nil on a clean stop, which for a drain is its end. While another
// process is the auditor of the data directory it waits.
//
// A tenant whose ledger is damaged is held back while the others go on; the
// error that wraps [ledger.ErrDamaged] comes at the end, and before it in
// o.Progress.
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
	p, err := openProjection(ctx, o)
	if err != nil {
		return o.beforeServing(ctx, err)
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.sendKeyChanges(ctx); err != nil {
		return o.beforeServing(ctx, err)
	}
	if p.tiles, err = listenTiles(ctx, o, p.keepers.StandsBy); err != nil {
		return o.beforeServing(ctx, err)
	}
	defer func() { err = errors.Join(err, p.tiles.Close()) }()
	files := newFileSync(o, agentfs.Open(ctx, AgentFSDir(o.DataDir), agentfs.Options{Logger: o.Logger}))
	return serve(ctx, o, p, files)
}

// listenTiles takes the address that o asks for; nil when it asks for none.
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

// checkStandby says what a standby lacks.
func (o Options) CheckStandby(url string) error {
	switch {
	case !o.Standby:
	case o.NoBucket:
		return errors.New("a standby takes turns in the bucket of checkpoints: it cannot do without it")
	case o.Drain:
		return errors.New("a standby waits for its turn: it does not drain")
	case url == "":
		return errors.New("a standby has another data directory than the auditor that it stands by for: " +
			"name the broker of both with --nats-url")
	}
	return nil
}

// durable names the consumer at the broker.
func (o Options) durable() string {
	if o.Standby {
		return standby
	}
	return durable
}

// reading returns how the stream is read into p.
func (p *projected) reading() consume.Options {
	o := p.opts
	return consume.Options{
		Durable: o.durable(), Space: o.Broker.Space(), Tenant: o.Tenant, Foreign: true,
		Batch: batchEvents, BatchBytes: batchBytes, Linger: batchLinger,
		Drain: o.Drain, Logger: o.Logger, Progress: p.progress,
		OnStreamChanged: p.streamChanged, OnHole: p.hole, Passed: p.passedBefore, Expected: p.expected,
	}
}

// beforeServing returns what Run returns when it ends before it has begun.
func (o Options) beforeServing(ctx context.Context, err error) error {
	// Asked to stop, while it waited for another process or read its state.
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || sqlite.ErrCode(err) == sqlite.ResultInterrupt) {
		if !o.Drain {
			return nil
		}
		err = ctx.Err()
	}
	return fmt.Errorf("auditor: %w", err)
}

// serve runs the consumer, and behind it the AgentFS files and the clock.
func serve(ctx context.Context, o Options, p *projected, files *fileSync) error {
	p.appended = func(tenant string) {
		files.changed(tenant)
		p.keepers.Changed(tenant)
	}
	beside, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { files.run(beside, func() { p.renewSilent(beside) }) })
	wg.Go(func() { p.keepers.Run(beside) })
	wg.Go(func() { p.scrubOften(beside) })
	past := newPruner(p)
	wg.Go(func() { p.tiles.Run(beside) })
	var unsent error
	if o.Drain {
		unsent = errors.Join(past.all(ctx), p.sender.drain(ctx))
	} else {
		wg.Go(func() { past.run(beside) })
		wg.Go(func() { p.sender.run(beside) })
	}
	err := consume.Run(ctx, o.Broker.JetStream(), p.reading(), p)
	stop()
	wg.Wait()
	err = errors.Join(err, finish(ctx, o, p, files))
	return errors.Join(err, unsent, p.heldBack())
}

// finish brings the AgentFS files up to where the ledgers are: all the way after
// a drain, as far as there is time when the service was asked to stop.
func finish(ctx context.Context, o Options, p *projected, files *fileSync) error {
	if o.Drain && ctx.Err() == nil {
		if err := p.lastAside(ctx); err != nil {
			return errors.Join(err, files.close())
		}
		p.renewSilent(ctx)
		p.keepers.Finish(ctx)
		p.lastScrubs(ctx)
		return errors.Join(files.sync(ctx), files.close())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSync)
	defer cancel()
	waiting, enough := context.WithTimeout(ctx, lastSync/2)
	defer enough()
	if err := p.lastAside(waiting); err != nil {
		// The next start reads again what waits.
		o.Logger.WarnContext(ctx, "a ledger does not have yet what came for it", "error", err)
	}
	p.keepers.Finish(ctx)
	p.scrubAll(ctx)
	if err := files.sync(ctx); err != nil {
		// The next start takes it up where it is.
		o.Logger.WarnContext(ctx, "agentfs files are behind the ledger", "error", err)
	}
	return files.close()
}
