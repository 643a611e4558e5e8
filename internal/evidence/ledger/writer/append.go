package writer

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// Appended says what a batch did to the ledger.
type Appended struct {
	Leaves     int // new leaves, conflicts and quarantine among them
	Again      int // messages that were seen again
	Copies     int // messages that were dropped as copies, or skipped as done
	Found      []Found
	Orders     []ledger.Outcome // that came and were signed by the key
	Checkpoint []byte           // the new checkpoint, signed; nil if nothing changed
}

// Found is a new conflict or message in quarantine.
type Found struct {
	Leaf           int64
	Finding        ledger.Finding
	Producer       string
	StreamSequence uint64
}

// Append applies batch, messages in stream order, and signs the result, all in
// one transaction that is on disk when it returns. What the ledger has already
// is skipped, so that a batch may be applied again, whole or in part. After an
// error nothing of batch is in the ledger, and Append may be called again.
func (l *Ledger) Append(ctx context.Context, stream ledger.Stream, batch []ledger.Message) (done Appended, err error) {
	err = sqlitetx.Within(ctx, l.conn, sqlitetx.BeginWrite, func() error {
		done, err = l.append(stream, batch)
		return err
	})
	if err != nil {
		l.stale = true
		return Appended{}, fmt.Errorf("append to ledger of tenant %q: %w", l.tenant, ledger.Refusal(err))
	}
	return done, nil
}

func (l *Ledger) append(stream ledger.Stream, batch []ledger.Message) (Appended, error) {
	if err := l.refresh(); err != nil {
		return Appended{}, err
	}
	if stream.Epoch < max(1, l.newest.Position.Epoch) {
		return Appended{}, fmt.Errorf("epoch %d of the stream is over", stream.Epoch)
	}
	w := &writing{Ledger: l, stream: stream, position: l.newest.Position}
	for _, m := range batch {
		if err := w.message(m); err != nil {
			return Appended{}, fmt.Errorf("message %d: %w", m.Sequence, err)
		}
	}
	if w.done.Leaves+w.done.Again == 0 {
		return w.done, nil
	}
	if err := w.storeHashes(); err != nil {
		return Appended{}, err
	}
	var err error
	w.done.Checkpoint, err = l.seal(w.position)
	return w.done, err
}

// Renew signs a checkpoint of what there is, for the sake of its time: how long
// a run has been silent is measured against the newest checkpoint.
func (l *Ledger) Renew(ctx context.Context) error {
	err := sqlitetx.Within(ctx, l.conn, sqlitetx.BeginWrite, func() error {
		if err := l.refresh(); err != nil {
			return err
		}
		_, err := l.seal(l.newest.Position)
		return err
	})
	if err != nil {
		l.stale = true
		return fmt.Errorf("renew checkpoint of tenant %q: %w", l.tenant, ledger.Refusal(err))
	}
	return nil
}

// refresh loads the state again when a batch failed or another process wrote.
func (l *Ledger) refresh() error {
	newest, err := sqlitetx.Int(l.conn, "SELECT max(checkpoint) FROM checkpoints")
	if err != nil {
		return err
	}
	if !l.stale && newest == l.newest.Number {
		return nil
	}
	return l.load()
}

// seal signs and stores a checkpoint of the present state.
func (l *Ledger) seal(position ledger.Position) ([]byte, error) {
	root, err := l.tree.root()
	if err != nil {
		return nil, err
	}
	c := ledger.Checkpoint{
		Tenant: l.tenant, Size: l.tree.size, Root: root, Number: l.newest.Number + 1, Time: l.opts.Now().UTC(),
		Arrivals: l.arrivals.Count, Digest: l.arrivals.Digest, Position: position,
	}
	// A clock that was set back must not make the ledger's own time run backwards.
	if c.Time.Before(l.newest.Time) {
		c.Time = l.newest.Time
	}
	signed, err := c.Sign(l.opts.Key.signer)
	if err != nil {
		return nil, err
	}
	insert := l.conn.Prep("INSERT INTO checkpoints (checkpoint, size, note) VALUES (?, ?, ?)")
	insert.BindInt64(1, c.Number)
	insert.BindInt64(2, c.Size)
	insert.BindText(3, string(signed))
	if err := sqlitetx.Run(insert); err != nil {
		return nil, fmt.Errorf("store checkpoint: %w", err)
	}
	l.newest = c
	return signed, nil
}

// writing is one batch on its way into a ledger.
type writing struct {
	*Ledger
	stream   ledger.Stream
	position ledger.Position
	done     Appended
	pending  []tlog.Hash // of the tree, not stored yet
	leaf     []byte      // buffer for a leaf's bytes
}

// message applies one message, unless it has been.
func (w *writing) message(m ledger.Message) error {
	if m.Address.Tenant != w.tenant {
		return fmt.Errorf("it belongs to tenant %q", m.Address.Tenant)
	}
	p := w.position
	if p.Epoch == w.stream.Epoch && m.Sequence <= p.Sequence {
		w.done.Copies++
		return nil
	}
	r, err := w.classify(m)
	if err != nil {
		return err
	}
	if r.copy {
		w.done.Copies++
		return nil
	}
	w.position = ledger.Position{
		Epoch: w.stream.Epoch, Stream: w.stream.Created, Sequence: m.Sequence, Hash: r.leaf.Hash,
	}
	return w.store(m, r)
}

// producer returns what is known of a producer, which gets a number if it is new.
func (w *writing) producer(name string) (*producer, error) {
	if name == "" {
		return &producer{}, nil
	}
	if p, ok := w.producers[name]; ok {
		return p, nil
	}
	insert := w.conn.Prep("INSERT INTO producers (producer, name) VALUES (?, ?)")
	p := &producer{number: int64(len(w.producers) + 1)}
	insert.BindInt64(1, p.number)
	insert.BindText(2, name)
	if err := sqlitetx.Run(insert); err != nil {
		return nil, fmt.Errorf("store producer: %w", err)
	}
	w.producers[name] = p
	return p, nil
}

// run returns the number of a run, which it gives out if the run is new.
func (w *writing) run(name string) (int64, error) {
	if name == "" {
		return 0, nil
	}
	if n, ok := w.runs[name]; ok {
		return n, nil
	}
	n, err := w.runNumber(name)
	if err != nil {
		return 0, fmt.Errorf("store run: %w", err)
	}
	if len(w.runs) >= maxKnownRuns {
		clear(w.runs)
	}
	w.runs[name] = n
	return n, nil
}

func (w *writing) runNumber(name string) (int64, error) {
	find := w.conn.Prep("SELECT run FROM runs WHERE name = ?")
	find.BindText(1, name)
	found, err := find.Step()
	n := find.ColumnInt64(0)
	if err = errors.Join(err, find.Reset()); err != nil || found {
		return n, err
	}
	if n, err = sqlitetx.Int(w.conn, "SELECT coalesce(max(run), 0) + 1 FROM runs"); err != nil {
		return 0, err
	}
	insert := w.conn.Prep("INSERT INTO runs (run, name) VALUES (?, ?)")
	insert.BindInt64(1, n)
	insert.BindText(2, name)
	return n, sqlitetx.Run(insert)
}
