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
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// projected is the auditor's projection: the ledgers of all tenants.
type projected struct {
	opts     Options
	db       *projection.DB
	start    consume.Position // where to begin: behind what all ledgers have
	started  bool
	expected consume.Position    // what the stream must hold when start is its beginning
	appended func(tenant string) // told after each commit
	keepers  *anchor.Anchors
	tiles    *tiles.Server // nil: not asked for
	sender   *sender
	scrubs   scrubs

	beside  context.Context //nolint:containedctx // of what is written beside the loop; ends with close
	stop    context.CancelFunc
	writers sync.WaitGroup

	mu      sync.Mutex // guards what follows: batches and renewals take turns
	set     *writer.Set
	asides  map[string]*aside // ledgers that are set aside, by tenant
	stream  ledger.Stream
	changed bool             // the next batch begins a new epoch
	at      uint64           // sequence up to which everything was read
	holes   []consume.Hole   // behind at, in order
	broke   error            // why the stream broke off; nil: it did not
	held    map[string]error // tenants whose ledgers are damaged, and how
}

// openProjection opens the key, the position and the ledgers.
func openProjection(ctx context.Context, o Options) (*projected, error) {
	key, err := openKey(ctx, o)
	if err != nil {
		return nil, err
	}
	name, err := subjects.Space{}.Durable(durable, o.Tenant)
	if err != nil {
		return nil, err
	}
	// A folder of a tenant has no dot in its name.
	path := filepath.Join(LedgerDir(o.DataDir), name+".db")
	db, err := projection.Open(ctx, path, stateSchema, o.Logger)
	if err != nil {
		return nil, err
	}
	p := &projected{
		opts: o, db: db, appended: func(string) {}, held: make(map[string]error), sender: newSender(o),
		asides: make(map[string]*aside),
		set:    writer.OpenSet(LedgerDir(o.DataDir), writer.Options{Key: key, Now: o.Now, CacheBytes: o.CacheBytes}),
	}
	p.beside, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	p.keepers = newKeepers(o, name, key)
	if err := p.compare(ctx); err != nil {
		return nil, errors.Join(err, p.close())
	}
	if err := p.findUnclean(); err != nil {
		return nil, errors.Join(err, p.close())
	}
	p.at = p.start.Sequence
	return p, nil
}

// newKeepers returns the keepers that o asks for. The name is that of the durable of
// the auditor of o's tenants, who may be another one while this one stands by.
func newKeepers(o Options, name string, key *writer.Key) *anchor.Anchors {
	k := anchor.Options{
		LedgerDir: LedgerDir(o.DataDir), Tenant: o.Tenant, Keys: key.Verifiers(), File: o.CheckpointFile, Witnesses: o.Witnesses,
		Candidate: bucket.Candidate{Durable: name, Standby: o.Standby}, Drain: o.Drain, Logger: o.Logger, Now: o.Now,
	}
	if !o.NoBucket {
		k.Bucket = bucket.At(o.Broker.JetStream(), o.Broker.Space())
	}
	return anchor.New(k)
}

// openKey opens the signing key. A new one is made only while nothing is signed.
func openKey(ctx context.Context, o Options) (*writer.Key, error) {
	dir := KeyDir(o.DataDir)
	if !writer.HasKey(dir) {
		if o.Standby {
			return nil, fmt.Errorf("a standby signs with the key of the auditor that it stands by for: copy ledger.key and ledger.pub "+
				"from the keys folder of that one's data directory to %s", dir)
		}
		tenants, err := ledger.Tenants(LedgerDir(o.DataDir))
		if err != nil {
			return nil, err
		}
		if len(tenants) > 0 {
			return nil, fmt.Errorf("the key that signed the ledgers is gone from %s: restore it, or move the ledgers away", dir)
		}
	}
	key, err := writer.OpenKey(dir)
	if err != nil {
		return nil, err
	}
	level := slog.LevelDebug
	if key.Made() {
		level = slog.LevelInfo
	}
	o.Logger.Log(ctx, level, "signing key opened", "made", key.Made(), "verifier_key", key.Public())
	return key, nil
}

// Position implements [consume.Projection].
func (p *projected) Position(ctx context.Context) (consume.Position, error) {
	if !p.started {
		return p.start, nil
	}
	return p.db.Position(ctx)
}

func (p *projected) report(ctx context.Context, tenant string, done writer.Appended) {
	for _, f := range done.Found {
		p.opts.Logger.WarnContext(ctx, "a record was set apart", "tenant", tenant, "finding", string(f.Finding),
			"leaf", f.Leaf, "producer", f.Producer, "stream_sequence", f.StreamSequence)
	}
	for _, o := range done.Orders {
		p.opts.Logger.InfoContext(ctx, "an order came", "tenant", tenant, "order", o.Order.ID, "action", string(o.Order.Action),
			"effect", string(o.Effect), "removed", o.Removed, "leaf", o.Leaf)
		if o.Removed > 0 {
			p.scrubs.add(tenant, nil)
		}
	}
	p.opts.Logger.DebugContext(ctx, "ledger appended", "tenant", tenant,
		"leaves", done.Leaves, "seen_again", done.Again, "copies", done.Copies)
}

func (p *projected) close() error {
	p.stop()
	p.writers.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.closeAside(), p.set.Close(), p.db.Close())
}
