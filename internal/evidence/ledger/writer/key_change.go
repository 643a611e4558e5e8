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

// changeKey accepts only the next key in the local key folder, because a thief of an old key could
// choose another one.
func (s *orders) changeKey(leaf int64, signed string) (*ledger.Outcome, error) {
	o, before, after, err := ledger.OpenKeyChange([]byte(signed))
	if err != nil || o.Tenant != s.tenant {
		return nil, nil //nolint:nilerr // the order is not valid here
	}
	ring := s.key.ring
	at := ring.Index(before, s.replaced)
	if at < 0 {
		return nil, nil // the key is unknown or was replaced before
	}
	if at+1 == len(ring) {
		return nil, foreignKey(o, leaf)
	}
	first, err := s.storeOrder(leaf, o)
	if err != nil || !first {
		return nil, err
	}
	done := &ledger.Outcome{Leaf: leaf, Order: o, Effect: ledger.EffectVoid}
	if ledger.SameKey(ring[at+1], after) {
		s.replaced, done.Effect = at+1, ledger.EffectDone
	}
	return done, s.storeEffect(leaf, done.Effect)
}

func foreignKey(o ledger.Order, leaf int64) error {
	id := "an unknown key"
	if v, err := note.NewVerifier(o.Key); err == nil {
		id = ledger.KeyID(v)
	}
	return fmt.Errorf("%w: leaf %d, ordered by %s on %s, puts %s in charge: if this was you, copy the keys folder of the "+
		"auditor that has it here and start again; if it was not, the key was stolen: auditor key rotate, and start again",
		ErrKey, leaf, o.By, ledger.FormatTime(o.Time), id)
}

// Missing returns the signed orders to replace the key that the ledger has not recorded yet.
func (l *Ledger) Missing() []string { return l.opts.Key.Changes(l.tenant, l.orders.replaced) }

// signAgain signs the checkpoints of the unnamed tenant's ledger again, because this ledger cannot
// contain an order that records a key change.
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
