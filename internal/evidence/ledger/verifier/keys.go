package verifier

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/note"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// KeyChange is an order in a report that replaces a key.
type KeyChange struct {
	Leaf   int64         `json:"leaf"` // of the event with the order
	From   string        `json:"from"` // key ids, see [ledger.KeyID]
	To     string        `json:"to"`
	By     string        `json:"by"`
	Reason string        `json:"reason"`
	Ticket string        `json:"ticket,omitempty"`
	Time   time.Time     `json:"time"`
	Effect ledger.Effect `json:"effect"` // void if another key had replaced the old one
}

// changeAt returns the entry of a key change in a report.
func changeAt(o ledger.Order, leaf int64, before, after note.Verifier, effect ledger.Effect) KeyChange {
	return KeyChange{
		Leaf: leaf, From: ledger.KeyID(before), To: ledger.KeyID(after), By: o.By, Reason: o.Reason, Ticket: o.Ticket, Time: o.Time, Effect: effect,
	}
}

// Powerless is an order without effect, because a replaced key signed it. Its signer has a
// key that should be gone.
type Powerless struct {
	Leaf   int64              `json:"leaf"`
	Key    string             `json:"key"`
	Action events.AuditAction `json:"action"`
}

// readKeys finds the keys that signed the ledger. It follows the changes from the given key
// in both directions. It takes the leaves of the orders from the table, which the walk
// checks later.
func (v *verifier) readKeys(conn *sqlite.Conn) error {
	tenant := v.opts.Tenant
	if tenant == "" {
		first, err := firstNote(conn)
		if err != nil {
			return err
		}
		if c, err := ledger.ReadCheckpoint(first); err == nil {
			tenant = c.Tenant
		}
	}
	leaves, err := sqlitetx.Ints(conn, "SELECT leaf FROM orders NOT INDEXED WHERE action = 'key' ORDER BY leaf")
	if err != nil {
		return err
	}
	found := make([]ledger.KeyOrder, len(leaves))
	for i, leaf := range leaves {
		signed, err := orderAt(conn, leaf)
		if err != nil {
			return err
		}
		found[i] = ledger.KeyOrder{Leaf: leaf, Signed: signed}
	}
	v.keys = ledger.LinkKeys(v.opts.Key, tenant, found)
	return nil
}

// orderAt returns the signed order in the event at a leaf, or "" if there is none.
func orderAt(conn *sqlite.Conn, leaf int64) (string, error) {
	data, err := ledger.ReadPayload(conn, leaf)
	if errors.Is(err, ledger.ErrNoPayload) {
		return "", nil // the walk reports it
	}
	if err != nil {
		return "", err
	}
	e, err := events.Decode(data)
	if err != nil {
		return "", nil //nolint:nilerr // the walk reports it
	}
	return signedOrder(e), nil
}

func firstNote(conn *sqlite.Conn) (signed []byte, err error) {
	err = sqlitex.Execute(conn, "SELECT note FROM checkpoints ORDER BY checkpoint LIMIT 1",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error { signed = sqlitetx.Bytes(stmt, 0); return nil }})
	return signed, err
}

// changeKey executes an order that changes the key.
func (s *orders) changeKey(leaf int64, signed string) {
	w := s.w
	o, before, after, err := ledger.OpenKeyChange([]byte(signed))
	if err != nil || o.Tenant != w.signed.tenant || s.ids[o.ID] {
		return
	}
	effect, counts := w.v.keys.Effect(leaf, before)
	if !counts {
		if w.v.keys.Chain.Index(before, 0) >= 0 {
			s.powerless(leaf, before, o)
		}
		return
	}
	s.ids[o.ID] = true
	if len(w.v.report.Keys) < maxOrders {
		w.v.report.Keys = append(w.v.report.Keys, changeAt(o, leaf, before, after, effect))
	}
	s.all = append(s.all, inReport(o, leaf, effect))
}

// tooLate reports an order that a replaced key signed.
func (s *orders) tooLate(leaf int64, signed string) {
	for _, k := range s.w.v.keys.Chain {
		if o, err := ledger.OpenOrder([]byte(signed), note.VerifierList(k)); err == nil && o.Tenant == s.w.signed.tenant && !s.ids[o.ID] {
			s.powerless(leaf, k, o)
		}
	}
}

func (s *orders) powerless(leaf int64, key note.Verifier, o ledger.Order) {
	r := &s.w.v.report
	if r.PowerlessCount++; len(r.Powerless) < maxProblems {
		r.Powerless = append(r.Powerless, Powerless{Leaf: leaf, Key: ledger.KeyID(key), Action: o.Action})
	}
}

// openTrusted checks the signatures of checkpoints from outside the ledger, once the keys
// are known. The checkpoint that the user vouches for needs no signature.
func (v *verifier) openTrusted() {
	for i := range v.trusted {
		t := &v.trusted[i]
		if t.signed == nil || t.found.Unusable {
			continue
		}
		if _, err := ledger.OpenCheckpoint(t.signed, v.keys.At(t.Size)); err != nil {
			t.found = Trusted{From: t.found.From, WithLedger: t.found.WithLedger, Unusable: true, Reason: err.Error()}
		}
	}
}

// reasonOfKey adds to an error that the signing key was not in charge.
func reasonOfKey(err error, replaced int) error {
	if replaced > 0 && errors.As(err, new(*note.UnverifiedNoteError)) {
		return fmt.Errorf("none of the keys in charge there has signed it: %w", err)
	}
	return err
}
