package writer

import (
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// obey carries out the order that the event at leaf brings, if it brings one that
// the key in charge has signed. What everybody may publish has no effect.
func (w *writing) obey(leaf int64, e events.Event) error {
	d, err := events.Payload[events.AuditAccessedData](e)
	if err != nil || d.Order == "" {
		return nil //nolint:nilerr // a record of something that cannot be read orders nothing
	}
	if ledger.IsKeyChange(d.Order) {
		return w.obeyKey(leaf, d.Order)
	}
	o, err := ledger.OpenOrder([]byte(d.Order), w.opts.Key.ring.From(w.keys))
	if err != nil || o.Tenant != w.tenant {
		return nil //nolint:nilerr // and neither does what somebody else signed
	}
	first, err := w.storeOrder(leaf, o)
	if err != nil || !first {
		return err
	}
	return w.carryOut(leaf, o)
}

// carryOut does what an order says.
func (w *writing) carryOut(leaf int64, o ledger.Order) (err error) {
	done := ledger.Outcome{Leaf: leaf, Order: o, Effect: ledger.EffectDone}
	switch o.Action { //nolint:exhaustive // those of orders among all there are
	case events.AuditHold:
		w.holds = append(w.holds, o)
	case events.AuditLift:
		if !w.lift(o.Hold) {
			done.Effect = ledger.EffectVoid
		}
	case events.AuditErase, events.AuditPrune:
		done.Effect, done.Removed, err = w.remove(leaf, o)
	}
	if err != nil {
		return fmt.Errorf("order %s: %w", o.ID, err)
	}
	w.done.Orders = append(w.done.Orders, done)
	return w.storeEffect(leaf, done.Effect)
}

// storeOrder notes that an order came. It returns false if it came before.
func (w *writing) storeOrder(leaf int64, o ledger.Order) (bool, error) {
	stmt := w.conn.Prep("INSERT INTO orders (leaf, id, action, effect, hold) VALUES (?, ?, ?, '', ?) ON CONFLICT (id) DO NOTHING")
	stmt.BindInt64(1, leaf)
	stmt.BindText(2, o.ID)
	stmt.BindText(3, string(o.Action))
	stmt.BindText(4, o.Hold)
	if err := sqlitetx.Run(stmt); err != nil {
		return false, fmt.Errorf("store order: %w", err)
	}
	return w.conn.Changes() > 0, nil
}

func (w *writing) storeEffect(leaf int64, effect ledger.Effect) error {
	stmt := w.conn.Prep("UPDATE orders SET effect = ? WHERE leaf = ?")
	stmt.BindText(1, string(effect))
	stmt.BindInt64(2, leaf)
	return sqlitetx.Run(stmt)
}

// lift ends a hold. It returns false if that one is not in force.
func (w *writing) lift(id string) bool {
	for i, h := range w.holds {
		if h.ID == id {
			w.holds = append(w.holds[:i:i], w.holds[i+1:]...)
			return true
		}
	}
	return false
}

// remove destroys what an order to erase or to prune concerns, unless a hold
// stands in its way: then nothing of it.
func (w *writing) remove(leaf int64, o ledger.Order) (effect ledger.Effect, removed int64, err error) {
	targets, err := w.targets(leaf, o)
	if err != nil {
		return "", 0, err
	}
	held, err := w.held(o, targets)
	if err != nil || held {
		return ledger.EffectHeld, 0, err
	}
	if len(targets) == 0 {
		return ledger.EffectDone, 0, nil
	}
	if err := w.soil(); err != nil {
		return "", 0, err
	}
	blobs := make(map[int64]bool)
	insert := w.conn.Prep("INSERT INTO erased (leaf, word, ordered) VALUES (?, ?, ?)")
	for _, t := range targets {
		if err := w.removePayload(t, blobs); err != nil {
			return "", 0, fmt.Errorf("leaf %d: %w", t, err)
		}
		insert.BindInt64(1, t)
		insert.BindText(2, string(ledger.WordOf(o.Action)))
		insert.BindInt64(3, leaf)
		if err := sqlitetx.Run(insert); err != nil {
			return "", 0, err
		}
	}
	return ledger.EffectDone, int64(len(targets)), w.removeBlobs(blobs)
}

// targets returns the leaves whose bytes an order would destroy, ascending.
func (w *writing) targets(leaf int64, o ledger.Order) ([]int64, error) {
	ranges := o.Leaves
	if same, err := w.isTree(o); err != nil {
		return nil, err
	} else if !same {
		if ranges, err = w.byWords(o, leaf); err != nil {
			return nil, err
		}
	}
	var targets []int64
	for _, r := range ranges {
		err := ledger.EachTarget(w.conn, r, func(t ledger.Target) error {
			if t.Leaf < leaf && t.Removable() && !t.Removal.Done() {
				targets = append(targets, t.Leaf)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return targets, nil
}

// byWords returns what an order is about in a ledger with another tree than the
// one that it means. What is too old there the next order finds.
func (w *writing) byWords(o ledger.Order, leaf int64) (ledger.LeafRanges, error) {
	if o.Action == events.AuditPrune {
		return nil, nil
	}
	return ledger.Resolve(w.conn, o.Selection, leaf)
}

// isTree reports whether an order means the tree of this ledger.
func (w *writing) isTree(o ledger.Order) (bool, error) {
	if o.Size > w.tree.size {
		return false, nil
	}
	root, err := tlog.TreeHash(o.Size, tlog.HashReaderFunc(w.readHashes))
	return root == o.Root, err
}

// readHashes reads the tree's hashes, those of this batch too.
func (w *writing) readHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	stored := tlog.StoredHashCount(w.newest.Size)
	for i, index := range indexes {
		if index >= stored {
			hashes[i] = w.pending[index-stored]
			continue
		}
		h, err := w.storedHash(index)
		if err != nil {
			return nil, err
		}
		hashes[i] = h
	}
	return hashes, nil
}

// held reports whether a hold covers one of the targets of an order.
func (w *writing) held(o ledger.Order, targets []int64) (bool, error) {
	for _, h := range w.holds {
		here, err := w.isTree(h)
		if err != nil {
			return false, err
		}
		for _, t := range targets {
			var covered bool
			err := ledger.EachTarget(w.conn, ledger.LeafRange{First: t, Last: t}, func(row ledger.Target) error {
				covered = h.Covers(o, row, here)
				return nil
			})
			if err != nil || covered {
				return covered, err
			}
		}
	}
	return false, nil
}

// removePayload destroys the bytes of one record. The blob that they refer to is
// added to blobs.
func (w *writing) removePayload(leaf int64, blobs map[int64]bool) error {
	blob, err := sqlitetx.Int(w.conn, "SELECT blob FROM payloads WHERE leaf = ?", leaf)
	if err != nil {
		return err
	}
	if blob > 0 {
		data, err := ledger.ReadPayload(w.conn, leaf)
		if err != nil {
			return err
		}
		e, err := events.Decode(data)
		c, ok := ledger.CutChunk(e, data)
		if err != nil || !ok {
			return fmt.Errorf("%w: the chunk of leaf %d is none", ledger.ErrDamaged, leaf)
		}
		blobs[blob] = true
		if err := execute(w.conn, "DELETE FROM chunks WHERE whole = ? AND part = ? AND leaf = ?", c.Whole[:], c.Part, leaf); err != nil {
			return err
		}
	}
	return execute(w.conn, "DELETE FROM payloads WHERE leaf = ?", leaf)
}

// removeBlobs destroys those of blobs that no record refers to any more.
func (w *writing) removeBlobs(blobs map[int64]bool) error {
	if len(blobs) == 0 {
		return nil
	}
	err := sqlitex.Execute(w.conn, "SELECT p.blob FROM chunks c JOIN payloads p ON p.leaf = c.leaf",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			delete(blobs, stmt.ColumnInt64(0))
			return nil
		}})
	for blob := range blobs {
		err = errors.Join(err, execute(w.conn, "DELETE FROM blobs WHERE blob = ?", blob))
	}
	return err
}

// execute runs a statement that returns no rows.
func execute(conn *sqlite.Conn, query string, args ...any) error {
	return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: args})
}
