package writer

import (
	"context"
	"fmt"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// Appended is the result of [Ledger.Append]. Leaves counts all new records, including conflicts and
// records in quarantine.
type Appended struct {
	Leaves      int
	Repetitions int
	Copies      int // messages that the ledger already has
	Found       []Found
	Orders      []ledger.Outcome // orders with a valid signature
	Checkpoint  []byte           // signed note; nil if nothing changed
}

// Found describes a new record that conflicts with another record or is in quarantine.
type Found struct {
	Leaf           int64
	Class          ledger.Class
	Finding        ledger.Finding
	Producer       string
	StreamSequence uint64
}

// Append adds messages to the ledger and signs a new checkpoint. The messages must be in stream
// order. The caller may append the same batch again, because messages that the ledger has are
// ignored. After an error the ledger is unchanged.
func (l *Ledger) Append(ctx context.Context, stream ledger.Stream, messages []ledger.Message) (done Appended, err error) {
	err = sqlitetx.Within(ctx, l.conn, sqlitetx.BeginWrite, func() error {
		done, err = l.append(stream, messages)
		return err
	})
	if err != nil {
		l.stale = true
		return Appended{}, fmt.Errorf("append to ledger of tenant %q: %w", l.tenant, ledger.Refusal(err))
	}
	return done, nil
}

func (l *Ledger) append(stream ledger.Stream, messages []ledger.Message) (Appended, error) {
	if err := l.refresh(); err != nil {
		return Appended{}, err
	}
	if stream.Epoch < max(1, l.newest.Position.Epoch) {
		return Appended{}, fmt.Errorf("epoch %d of the stream has ended", stream.Epoch)
	}
	b := &batch{
		conn: l.conn, tenant: l.tenant, state: &l.state, payloads: payloads{l.conn},
		classify: classifier{conn: l.conn, names: l.names, crowds: l.crowds, epoch: stream.Epoch, contents: make(map[int64]content)},
		stream:   stream, position: l.newest.Position,
	}
	for _, m := range messages {
		if err := b.message(m); err != nil {
			return Appended{}, fmt.Errorf("message %d: %w", m.Sequence, err)
		}
	}
	if b.done.Leaves+b.done.Repetitions == 0 {
		return b.done, nil
	}
	if err := l.tree.store(); err != nil {
		return Appended{}, err
	}
	var err error
	b.done.Checkpoint, err = l.seal(b.position)
	return b.done, err
}

// Renew signs a new checkpoint of the unchanged tree. Its time shows that no record has arrived
// since the previous checkpoint.
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

// Break records that the stream lost messages after the last message in the ledger. It signs a
// checkpoint with the position at, after which reading resumes. When Break returns nil, the
// checkpoint is on disk. A repeated call does nothing.
func (l *Ledger) Break(ctx context.Context, at ledger.Position) error {
	err := sqlitetx.Within(ctx, l.conn, sqlitetx.BeginWrite, func() error {
		if err := l.refresh(); err != nil {
			return err
		}
		if l.newest.Arrivals == 0 || !at.After(l.newest.Position) {
			return nil
		}
		_, err := l.seal(at)
		return err
	})
	if err != nil {
		l.stale = true
		return fmt.Errorf("note a break of the stream in the ledger of tenant %q: %w", l.tenant, ledger.Refusal(err))
	}
	return nil
}

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

func (l *Ledger) seal(position ledger.Position) ([]byte, error) {
	root, err := l.tree.edge.root()
	if err != nil {
		return nil, err
	}
	c := ledger.Checkpoint{
		Tenant: l.tenant, Size: l.tree.edge.size, Root: root, Number: l.newest.Number + 1, Time: l.opts.Now().UTC(),
		Arrivals: l.arrivals.Count, Digest: l.arrivals.Digest, Position: position,
	}
	// The times of checkpoints must not go back, even if the system clock does.
	if c.Time.Before(l.newest.Time) {
		c.Time = l.newest.Time
	}
	signed, err := c.Sign(l.opts.Key.signer)
	if err != nil {
		return nil, err
	}
	err = execute(l.conn, "INSERT INTO checkpoints (checkpoint, size, note) VALUES (?, ?, ?)", c.Number, c.Size, string(signed))
	if err != nil {
		return nil, fmt.Errorf("store checkpoint: %w", err)
	}
	l.newest = c
	return signed, nil
}
