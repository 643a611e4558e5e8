package auditor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/consume"
	"github.com/hooktrail/hooktrail/internal/ledger"
	"github.com/hooktrail/hooktrail/internal/projection"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// projected is the auditor's projection: the ledgers of all tenants.
type projected struct {
	opts     Options
	db       *projection.DB
	start    consume.Position // where to begin: behind what all ledgers have
	started  bool
	appended func(tenant string) // told after each commit
	keepers  keepers
	tiles    *tilesServer // nil: not asked for
	sender   *sender

	mu      sync.Mutex // guards what follows: batches and renewals take turns
	set     *ledger.Set
	stream  ledger.Stream
	changed bool             // the next batch begins a new epoch
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
		set: ledger.OpenSet(LedgerDir(o.DataDir), ledger.Options{Key: key, Now: o.now}),
	}
	if p.keepers, err = newKeepers(o, key); err != nil {
		return nil, errors.Join(err, p.close())
	}
	if err := p.compare(ctx); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// openKey opens the signing key. A new one is made only while nothing is signed.
func openKey(ctx context.Context, o Options) (*ledger.Key, error) {
	dir := KeyDir(o.DataDir)
	if !ledger.HasKey(dir) {
		tenants, err := ledger.Tenants(LedgerDir(o.DataDir))
		if err != nil {
			return nil, err
		}
		if len(tenants) > 0 {
			return nil, fmt.Errorf("the key that signed the ledgers is gone from %s: restore it, or move the ledgers away", dir)
		}
	}
	key, err := ledger.OpenKey(dir)
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

// streamChanged implements consume.Options.OnStreamChanged: evidence of the new
// stream goes on behind that of the old one, and what is missing shows as gaps.
func (p *projected) streamChanged(reason string) error {
	p.opts.Logger.Error("the stream was replaced or rolled back: the ledgers go on from its first message", "reason", reason)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = true
	return nil
}

// Apply implements [consume.Projection].
func (p *projected) Apply(ctx context.Context, batch []consume.Message, next consume.Position) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	stream := p.stream
	if stream.Epoch == 0 || p.changed || !next.Stream.IsZero() && !stream.Created.Equal(next.Stream) {
		stream = ledger.Stream{Epoch: stream.Epoch + 1, Created: next.Stream}
	}
	byTenant := make(map[string][]ledger.Message)
	for _, m := range batch {
		// What lies on no subject of ours belongs to nobody: the tenant without a
		// name has it in quarantine.
		t := m.Address.Tenant
		byTenant[t] = append(byTenant[t], ledger.Message{
			Sequence: m.Sequence, Address: m.Address, Data: m.Data, Stored: m.Stored,
		})
	}
	reached := make([]known, 0, len(byTenant))
	for _, tenant := range slices.Sorted(maps.Keys(byTenant)) {
		at, err := p.append(ctx, stream, tenant, byTenant[tenant])
		if err != nil {
			return err
		}
		reached = append(reached, at)
	}
	if err := p.commit(ctx, stream, next, reached); err != nil {
		return err
	}
	p.stream, p.changed, p.started = stream, false, true
	for _, k := range reached {
		p.appended(k.tenant)
	}
	return nil
}

// append applies the messages of one tenant to its ledger, and returns how far
// that one reaches, or should, if it is held back.
func (p *projected) append(
	ctx context.Context, stream ledger.Stream, tenant string, batch []ledger.Message,
) (known, error) {
	if p.held[tenant] == nil {
		l, err := p.set.Ledger(ctx, tenant)
		var done ledger.Appended
		if err == nil {
			done, err = l.Append(ctx, stream, batch)
		}
		if err == nil {
			p.report(ctx, tenant, done)
			at := l.Newest().Position
			return known{tenant: tenant, epoch: at.Epoch, sequence: at.Sequence}, nil
		}
		if !errors.Is(err, ledger.ErrDamaged) {
			return known{}, err
		}
		p.hold(ctx, tenant, err)
	}
	return known{tenant: tenant, epoch: stream.Epoch, sequence: batch[len(batch)-1].Sequence}, nil
}

func (p *projected) report(ctx context.Context, tenant string, done ledger.Appended) {
	for _, f := range done.Found {
		p.opts.Logger.WarnContext(ctx, "a record was set apart", "tenant", tenant, "finding", string(f.Finding),
			"leaf", f.Leaf, "producer", f.Producer, "stream_sequence", f.StreamSequence)
	}
	p.opts.Logger.DebugContext(ctx, "ledger appended", "tenant", tenant,
		"leaves", done.Leaves, "seen_again", done.Again, "copies", done.Copies)
}

// commit stores the position, now that all ledgers have the batch.
func (p *projected) commit(ctx context.Context, stream ledger.Stream, next consume.Position, reached []known) error {
	now := p.opts.now().UnixNano()
	return p.db.Commit(ctx, next, nil, func(conn *sqlite.Conn) error {
		err := sqlitex.Execute(conn, "INSERT OR REPLACE INTO stream (id, epoch, created) VALUES (1, ?, ?)",
			&sqlitex.ExecOptions{Args: []any{int64(stream.Epoch), stream.Created.UnixNano()}})
		for _, k := range reached {
			if err != nil {
				break
			}
			// What is read again must not lower what a ledger that is held back should have.
			err = sqlitex.Execute(conn, `INSERT INTO ledger (tenant, epoch, sequence, appended, renewed) VALUES (?1, ?2, ?3, ?4, 0)
				ON CONFLICT DO UPDATE SET epoch = excluded.epoch, appended = excluded.appended, sequence =
					iif(?5 AND epoch = excluded.epoch, max(sequence, excluded.sequence), excluded.sequence)`,
				&sqlitex.ExecOptions{Args: []any{k.tenant, int64(k.epoch), int64(k.sequence), now, p.held[k.tenant] != nil}})
		}
		return err
	})
}

func (p *projected) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.set.Close(), p.db.Close())
}
