package writer

import (
	"bytes"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// store puts a record into the tree, or beside it when its content is there.
func (w *writing) store(m ledger.Message, r record) error {
	p, err := w.producer(r.leaf.Producer)
	if err != nil {
		return err
	}
	runNumber, err := w.run(r.leaf.Run)
	if err != nil {
		return err
	}
	stored, err := w.insertLeaf(m, r, p, runNumber)
	if err != nil {
		return err
	}
	if !stored {
		first, same, err := w.compareContent(r)
		if err != nil {
			return err
		}
		if same {
			return w.storeAgain(m, r, p, first)
		}
		r.leaf.Class, r.leaf.Finding = ledger.ClassConflict, ledger.FindingIDReused
		if _, err := w.insertLeaf(m, r, p, runNumber); err != nil {
			return err
		}
	}
	p.high = max(p.high, int64(r.leaf.Sequence))
	return w.commitLeaf(m, r)
}

// insertLeaf stores the row of a leaf. It stores nothing and returns false if
// the leaf is of class event and its id is taken.
func (w *writing) insertLeaf(m ledger.Message, r record, p *producer, runNumber int64) (bool, error) {
	stmt := w.conn.Prep(`INSERT INTO leaves
		(leaf, class, id, producer, sequence, run, kind, time, hash, finding, epoch, stream, stored)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`)
	stmt.BindInt64(1, w.tree.size)
	stmt.BindText(2, string(r.leaf.Class))
	stmt.BindText(3, r.leaf.ID)
	stmt.BindInt64(4, p.number)
	stmt.BindInt64(5, int64(r.leaf.Sequence))
	stmt.BindInt64(6, runNumber)
	stmt.BindText(7, string(r.leaf.Kind))
	stmt.BindText(8, ledger.FormatTime(r.leaf.Time))
	stmt.BindBytes(9, r.leaf.Hash[:])
	stmt.BindText(10, string(r.leaf.Finding))
	stmt.BindInt64(11, int64(w.stream.Epoch))
	stmt.BindInt64(12, int64(m.Sequence))
	stmt.BindInt64(13, unixNano(m.Stored))
	if err := sqlitetx.Run(stmt); err != nil {
		return false, fmt.Errorf("store leaf: %w", err)
	}
	stored := w.conn.Changes() > 0
	if !stored && r.leaf.Class != ledger.ClassEvent {
		return false, fmt.Errorf("%w: leaf %d is there already", ledger.ErrDamaged, w.tree.size)
	}
	return stored, nil
}

// commitLeaf stores the payload of the leaf whose row was stored last, and adds
// the leaf to the tree.
func (w *writing) commitLeaf(m ledger.Message, r record) error {
	if err := w.storePayload(w.tree.size, m.Data, r); err != nil {
		return fmt.Errorf("store payload: %w", err)
	}
	if r.leaf.Finding != "" {
		w.done.Found = append(w.done.Found, Found{
			Leaf: w.tree.size, Finding: r.leaf.Finding, Producer: r.leaf.Producer, StreamSequence: m.Sequence,
		})
	}
	w.arrivals.Add(ledger.Arrival{
		Leaf: w.tree.size, Epoch: int64(w.stream.Epoch), Stream: int64(m.Sequence), Stored: unixNano(m.Stored),
	})
	w.leaf = r.leaf.Append(w.leaf[:0])
	hashes, err := w.tree.append(w.leaf)
	w.pending = append(w.pending, hashes...)
	w.done.Leaves++
	if err == nil && r.leaf.Class == ledger.ClassEvent && r.leaf.Kind == events.AuditAccessed {
		err = w.obey(w.tree.size-1, r.event)
	}
	return err
}

// storeAgain notes that the content of leaf first came again.
func (w *writing) storeAgain(m ledger.Message, r record, p *producer, first int64) error {
	a := ledger.Arrival{
		Leaf: first, Epoch: int64(w.stream.Epoch), Stream: int64(m.Sequence), Stored: unixNano(m.Stored),
		Again: true, Producer: r.leaf.Producer, Sequence: int64(r.leaf.Sequence), Hash: r.leaf.Hash[:],
	}
	stmt := w.conn.Prep(`INSERT INTO seen (seen, leaf, producer, sequence, hash, epoch, stream, stored)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`)
	stmt.BindInt64(1, w.arrivals.Count-w.tree.size+1)
	stmt.BindInt64(2, a.Leaf)
	stmt.BindInt64(3, p.number)
	stmt.BindInt64(4, a.Sequence)
	stmt.BindBytes(5, a.Hash)
	stmt.BindInt64(6, a.Epoch)
	stmt.BindInt64(7, a.Stream)
	stmt.BindInt64(8, a.Stored)
	if err := sqlitetx.Run(stmt); err != nil {
		return fmt.Errorf("store what was seen again: %w", err)
	}
	p.high = max(p.high, a.Sequence)
	w.arrivals.Add(a)
	w.done.Again++
	return nil
}

// storeHashes stores the tree's new hashes.
func (w *writing) storeHashes() error {
	row := tlog.StoredHashCount(w.newest.Size) / ledger.HashesPerRow
	buf := bytes.NewBuffer(w.tail)
	for _, h := range w.pending {
		buf.Write(h[:])
	}
	stmt := w.conn.Prep("INSERT OR REPLACE INTO hashes (chunk, bytes) VALUES (?, ?)")
	for buf.Len() > 0 {
		full := buf.Len() >= ledger.HashesPerRow*tlog.HashSize
		if !full {
			w.tail = bytes.Clone(buf.Bytes())
		}
		stmt.BindInt64(1, row)
		stmt.BindBytes(2, buf.Next(ledger.HashesPerRow*tlog.HashSize))
		if err := sqlitetx.Run(stmt); err != nil {
			return fmt.Errorf("store hashes: %w", err)
		}
		if full && buf.Len() == 0 {
			w.tail = nil
		}
		row++
	}
	return nil
}

// unixNano returns the nanoseconds since 1970, 0 for the zero time.
func unixNano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
