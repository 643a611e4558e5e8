package auditor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/bucket"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/evidence/tiles"
	"github.com/hooktrail/hooktrail/internal/platform/hookid"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

type service struct {
	opts      Options
	state     *state
	ledgers   *ledgers
	projector *projector
	scrubber  *scrubber
	anchors   *anchor.Anchors
	sender    *sender
	reports   *reporter
	files     *fileSync     // set by Run
	tiles     *tiles.Server // set by Run; nil without TilesListen
}

func open(ctx context.Context, o Options) (*service, error) {
	key, err := openKey(ctx, o)
	if err != nil {
		return nil, err
	}
	name, err := subjects.Space{}.Durable(durable, o.Tenant)
	if err != nil {
		return nil, err
	}
	admitted, err := newAdmissions(o)
	if err != nil {
		return nil, err
	}
	db, err := projection.Open(ctx, filepath.Join(LedgerDir(o.DataDir), name+".db"), stateSchema, o.Logger)
	if err != nil {
		return nil, err
	}
	s := &service{opts: o, state: &state{db: db, now: o.Now}, sender: newSender(o), anchors: newAnchors(o, name, key)}
	s.reports = &reporter{opts: o, key: key, standsBy: s.anchors.StandsBy}
	s.ledgers = openLedgers(ctx, o, s.state, key, admitted)
	s.scrubber = &scrubber{opts: o, ledgers: s.ledgers, queue: s.ledgers.scrubs}
	resumed, err := resume(ctx, s.ledgers)
	if err == nil {
		err = s.scrubber.findUnclean()
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.projector = newProjector(o, s.ledgers, resumed)
	return s, nil
}

func (s *service) close() error { return errors.Join(s.ledgers.close(), s.state.db.Close()) }

// A standby passes the same name as its auditor, so that both compete for one lease.
func newAnchors(o Options, name string, key *writer.Key) *anchor.Anchors {
	k := anchor.Options{
		LedgerDir: LedgerDir(o.DataDir), Tenant: o.Tenant, Keys: key.Verifiers(), File: o.CheckpointFile, Witnesses: o.Witnesses,
		Timestamps: o.Timestamps,
		Candidate:  bucket.Candidate{Durable: name, Standby: o.Standby}, Drain: o.Drain, Logger: o.Logger, Now: o.Now,
	}
	if !o.NoBucket {
		k.Bucket = bucket.At(o.Broker.JetStream(), o.Broker.Space())
	}
	return anchor.New(k)
}

// CheckKey returns an error if the data directory has ledgers but no key.
func CheckKey(dataDir string) error {
	dir := KeyDir(dataDir)
	if writer.HasKey(dir) {
		return nil
	}
	tenants, err := ledger.Tenants(LedgerDir(dataDir))
	if err == nil && len(tenants) > 0 {
		err = fmt.Errorf("the key that signed the ledgers is gone from %s: restore it, or move the ledgers away", dir)
	}
	return err
}

func openKey(ctx context.Context, o Options) (*writer.Key, error) {
	dir := KeyDir(o.DataDir)
	if o.Standby && !writer.HasKey(dir) {
		return nil, fmt.Errorf("a standby signs with the key of the auditor it stands by for: copy ledger.key and ledger.pub "+
			"from the keys folder of that auditor's data directory to %s", dir)
	}
	if err := CheckKey(o.DataDir); err != nil {
		return nil, err
	}
	made := false
	if o.Signer != "" {
		place, err := writer.ParsePlace(o.Signer)
		if err == nil {
			made, err = place.Choose(dir)
		}
		if err != nil {
			return nil, fmt.Errorf("signer: %w", err)
		}
	}
	key, err := writer.OpenKey(dir)
	if err != nil {
		return nil, err
	}
	level := slog.LevelDebug
	if made = made || key.Made(); made {
		level = slog.LevelInfo
	}
	o.Logger.Log(ctx, level, "signing key opened", "made", made, "verifier_key", key.Public(), "in_agent", key.InAgent())
	pinKey(ctx, o, key)
	endorseIssuer(ctx, o, key)
	if _, err := hookid.Key(o.DataDir); err != nil { // Key must run before the first ledger exists
		o.Logger.WarnContext(ctx, "key of hook ids not opened, later ids of hook events may be predictable", "error", err)
	}
	return key, nil
}

func (s *service) consumer() consume.Options {
	o, p := s.opts, s.projector
	return consume.Options{
		Durable: o.durable(), Space: o.Broker.Space(), Tenant: o.Tenant, UnknownSubjects: true,
		Batch: batchEvents, BatchBytes: batchBytes, Linger: batchLinger,
		Drain: o.Drain, Logger: o.Logger, Progress: s.progress,
		OnStreamChanged: p.streamChanged, OnGap: p.tracker.hole, Passed: s.state.passed, Expected: p.resumed.expected,
	}
}

func (s *service) progress(now consume.Progress) {
	if now.Err == nil {
		now.Err = errors.Join(s.ledgers.failure(), s.projector.tracker.failure(), s.anchors.Failure(), s.sender.failure(),
			s.ledgers.scrubs.failure(), s.ledgers.slowWrites())
	}
	now.Lag += s.ledgers.queuedMessages()
	s.opts.Progress(now)
}

func (s *service) run(ctx context.Context) error {
	s.ledgers.appended = func(tenant string) {
		s.files.changed(tenant)
		s.anchors.Changed(tenant)
	}
	background, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.files.run(background, func() { s.ledgers.renewIdle(background) }) })
	wg.Go(func() { s.anchors.Run(background) })
	wg.Go(func() { s.scrubber.run(background) })
	wg.Go(func() { s.tiles.Run(background) })
	revoked := &revoker{opts: s.opts, standsBy: s.anchors.StandsBy, given: make(map[[2]string]bool)}
	expired := &pruner{opts: s.opts, standsBy: s.anchors.StandsBy, waiting: make(map[string]string)}
	var unsent error
	if s.opts.Drain {
		sendGrants(ctx, s.opts)
		unsent = errors.Join(revoked.all(ctx), expired.all(ctx), s.sender.drain(ctx))
	} else {
		wg.Go(func() { sendGrants(background, s.opts) })
		wg.Go(func() { revoked.run(background) })
		wg.Go(func() { expired.run(background) })
		wg.Go(func() { s.sender.run(background) })
		wg.Go(func() { s.reports.run(background) })
	}
	err := consume.Run(ctx, s.opts.Broker.JetStream(), s.consumer(), s.projector)
	stop()
	wg.Wait()
	err = errors.Join(err, s.finish(ctx))
	return errors.Join(err, unsent, s.ledgers.failure())
}

func (s *service) finish(ctx context.Context) error {
	if s.opts.Drain && ctx.Err() == nil {
		if err := s.ledgers.finish(ctx); err != nil {
			return errors.Join(err, s.files.close())
		}
		s.ledgers.renewIdle(ctx)
		s.anchors.Finish(ctx)
		s.scrubber.finish(ctx)
		return errors.Join(s.files.sync(ctx), s.files.close())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSync)
	defer cancel()
	writing, enough := context.WithTimeout(ctx, lastSync/2)
	defer enough()
	if err := s.ledgers.finish(writing); err != nil {
		s.opts.Logger.WarnContext(ctx, "backlog of a ledger not written, the next start reads it again", "error", err)
	}
	s.anchors.Finish(ctx)
	s.scrubber.all(ctx)
	if err := s.files.sync(ctx); err != nil {
		s.opts.Logger.WarnContext(ctx, "agentfs files are behind the ledger, the next start syncs them", "error", err)
	}
	return s.files.close()
}
