package writer

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/note"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// obeyKey puts another key in charge of the ledger, if one that is in charge, or
// comes after it, has ordered that.
//
// The keys that are here decide between several successors of one: who steals an
// old key cannot put one of his own in the place of the new one. Where none is here
// the ledger is given away, to a key that has to be brought, or a thief's; it goes
// no further then.
func (w *writing) obeyKey(leaf int64, signed string) error {
	o, before, after, err := ledger.OpenKeyChange([]byte(signed))
	if err != nil || o.Tenant != w.tenant {
		return nil //nolint:nilerr // as of every order that is none
	}
	ring := w.opts.Key.ring
	at := ring.Index(before, w.keys)
	if at < 0 {
		return nil // a stranger, or one that has been replaced
	}
	if at+1 == len(ring) {
		return givenAway(o, leaf)
	}
	first, err := w.storeOrder(leaf, o)
	if err != nil || !first {
		return err
	}
	done := ledger.Outcome{Leaf: leaf, Order: o, Effect: ledger.EffectVoid}
	if ledger.SameKey(ring[at+1], after) {
		w.keys, done.Effect = at+1, ledger.EffectDone
	}
	w.done.Orders = append(w.done.Orders, done)
	return w.storeEffect(leaf, done.Effect)
}

func givenAway(o ledger.Order, leaf int64) error {
	id := "another one"
	if v, err := note.NewVerifier(o.Key); err == nil {
		id = ledger.KeyID(v)
	}
	return fmt.Errorf("%w: leaf %d, ordered by %s on %s, puts %s in charge: if it was you, copy the keys folder of the "+
		"auditor that has it here and start again; if it was not, the key was stolen: auditor key rotate, and start again",
		ErrKey, leaf, o.By, ledger.FormatTime(o.Time), id)
}

// loadKeys finds out how many keys of the ring the ledger has behind it.
func (l *Ledger) loadKeys(s *state) error {
	s.keys = l.opts.Key.first(l.tenant)
	leaves, err := sqlitetx.Ints(l.conn, "SELECT leaf FROM orders WHERE action = 'key' AND effect = 'done' ORDER BY leaf")
	if err != nil {
		return err
	}
	for _, leaf := range leaves {
		o, err := ledger.ReadOrder(l.conn, leaf)
		if err != nil {
			return err
		}
		after, err := ledger.ParseKey(o.Key)
		if err != nil {
			return fmt.Errorf("%w: leaf %d: %w", ledger.ErrDamaged, leaf, err)
		}
		at := l.opts.Key.ring.Index(after, 0)
		if at < 0 {
			return givenAway(o, leaf)
		}
		s.keys = max(s.keys, at)
	}
	return nil
}

// Missing returns the signed orders, in order, which put the key in charge and have
// not come to the ledger.
func (l *Ledger) Missing() []string { return l.opts.Key.Changes(l.tenant, l.keys) }

// signAgain signs the checkpoints of the ledger of the tenant without a name again
// when the key was changed. No event of that tenant is ever understood, and so no
// order.
func (l *Ledger) signAgain(ctx context.Context) error {
	newest, err := ledger.NewestNote(l.conn)
	if err != nil || newest == nil {
		return err
	}
	key := l.opts.Key
	if _, err := ledger.OpenCheckpoint(newest, key.verifiers()); err == nil || len(key.ring) < 2 {
		return nil
	}
	return sqlitetx.Within(ctx, l.conn, sqlitetx.BeginWrite, func() error {
		return sqlitex.Execute(l.conn, "SELECT checkpoint, note FROM checkpoints ORDER BY checkpoint", &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error {
				c, err := ledger.OpenCheckpoint([]byte(stmt.ColumnText(1)), key.ring.From(0))
				if err != nil {
					return fmt.Errorf("%w: checkpoint %d: %w", ledger.ErrDamaged, stmt.ColumnInt64(0), err)
				}
				signed, err := c.Sign(key.signer)
				return errors.Join(err, execute(l.conn, "UPDATE checkpoints SET note = ? WHERE checkpoint = ?", string(signed), c.Number))
			},
		})
	})
}
