package writer

import (
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A batch adds messages to a ledger. After an error, its state must be loaded again.
type batch struct {
	conn     *sqlite.Conn
	tenant   string
	state    *state
	classify classifier
	payloads payloads
	stream   ledger.Stream
	position ledger.Position
	done     Appended
	leaf     []byte
}

func (b *batch) message(m ledger.Message) error {
	if m.Address.Tenant != b.tenant {
		return fmt.Errorf("it belongs to tenant %q", m.Address.Tenant)
	}
	p := b.position
	if p.Epoch == b.stream.Epoch && m.Sequence <= p.Sequence {
		b.done.Copies++
		return nil
	}
	r, err := b.classify.message(m)
	if err != nil {
		return err
	}
	if r.copy {
		b.done.Copies++
		return nil
	}
	b.position = ledger.Position{
		Epoch: b.stream.Epoch, Stream: b.stream.Created, Sequence: m.Sequence, Hash: r.leaf.Hash,
	}
	return b.store(m, r)
}

func (b *batch) store(m ledger.Message, r record) error {
	p, err := b.state.names.producer(r.leaf.Producer)
	if err != nil {
		return err
	}
	runNumber, err := b.state.names.run(r.leaf.Run)
	if err != nil {
		return err
	}
	stored, err := b.insertLeaf(m, r, p, runNumber)
	if err != nil {
		return err
	}
	if !stored {
		first, same, err := b.classify.compareContent(r)
		if err != nil {
			return err
		}
		if same {
			return b.storeRepetition(m, r, p, first)
		}
		r.leaf.Class, r.leaf.Finding = ledger.ClassConflict, ledger.FindingIDReused
		if _, err := b.insertLeaf(m, r, p, runNumber); err != nil {
			return err
		}
	}
	p.high = max(p.high, int64(r.leaf.Sequence))
	b.state.crowds.added(placeOf(r.leaf, p.number), r.leaf.Hash, int64(b.stream.Epoch))
	return b.commitLeaf(m, r)
}

func (b *batch) insertLeaf(m ledger.Message, r record, p *producer, runNumber int64) (bool, error) {
	size := b.state.tree.edge.size
	stmt := b.conn.Prep(`INSERT INTO leaves
		(leaf, class, id, producer, sequence, run, kind, time, hash, finding, epoch, stream, stored)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`)
	stmt.BindInt64(1, size)
	stmt.BindText(2, string(r.leaf.Class))
	stmt.BindText(3, r.leaf.ID)
	stmt.BindInt64(4, p.number)
	stmt.BindInt64(5, int64(r.leaf.Sequence))
	stmt.BindInt64(6, runNumber)
	stmt.BindText(7, string(r.leaf.Kind))
	stmt.BindText(8, ledger.FormatTime(r.leaf.Time))
	stmt.BindBytes(9, r.leaf.Hash[:])
	stmt.BindText(10, string(r.leaf.Finding))
	stmt.BindInt64(11, int64(b.stream.Epoch))
	stmt.BindInt64(12, int64(m.Sequence))
	stmt.BindInt64(13, unixNano(m.Stored))
	if err := sqlitetx.Run(stmt); err != nil {
		return false, fmt.Errorf("store leaf: %w", err)
	}
	stored := b.conn.Changes() > 0
	if !stored && r.leaf.Class != ledger.ClassEvent {
		return false, fmt.Errorf("%w: leaf %d exists already", ledger.ErrDamaged, size)
	}
	return stored, nil
}

func (b *batch) commitLeaf(m ledger.Message, r record) error {
	size := b.state.tree.edge.size
	if err := b.payloads.store(size, m.Data, r); err != nil {
		return fmt.Errorf("store payload: %w", err)
	}
	if r.leaf.Finding != "" {
		b.done.Found = append(b.done.Found, Found{
			Leaf: size, Class: r.leaf.Class, Finding: r.leaf.Finding, Producer: r.leaf.Producer, StreamSequence: m.Sequence,
		})
	}
	b.state.arrivals.Add(ledger.Arrival{
		Leaf: size, Epoch: int64(b.stream.Epoch), Stream: int64(m.Sequence), Stored: unixNano(m.Stored),
	})
	b.leaf = r.leaf.Append(b.leaf[:0])
	if err := b.state.tree.append(b.leaf); err != nil {
		return err
	}
	b.done.Leaves++
	if r.leaf.Class != ledger.ClassEvent || r.leaf.Kind != events.AuditAccessed {
		return nil
	}
	outcome, err := b.state.orders.execute(size, r.event, m.Stored)
	if outcome != nil {
		b.done.Orders = append(b.done.Orders, *outcome)
		clear(b.classify.contents)
	}
	return err
}

func (b *batch) storeRepetition(m ledger.Message, r record, p *producer, first int64) error {
	a := ledger.Arrival{
		Leaf: first, Epoch: int64(b.stream.Epoch), Stream: int64(m.Sequence), Stored: unixNano(m.Stored),
		Repeated: true, Producer: r.leaf.Producer, Sequence: int64(r.leaf.Sequence), Hash: r.leaf.Hash[:],
	}
	err := execute(b.conn, "INSERT INTO seen (seen, leaf, producer, sequence, hash, epoch, stream, stored) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		b.state.arrivals.Count-b.state.tree.edge.size+1, a.Leaf, p.number, a.Sequence, a.Hash, a.Epoch, a.Stream, a.Stored)
	if err != nil {
		return fmt.Errorf("store repetition: %w", err)
	}
	p.high = max(p.high, a.Sequence)
	b.state.crowds.added(placeOf(r.leaf, p.number), r.leaf.Hash, a.Epoch)
	b.state.arrivals.Add(a)
	b.done.Repetitions++
	return nil
}

func unixNano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
