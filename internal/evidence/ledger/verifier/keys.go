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

// KeyChange is an order in a report that puts one key in the place of another.
type KeyChange struct {
	Leaf   int64         `json:"leaf"` // of the event that brought it
	From   string        `json:"from"` // ids of keys, see [ledger.KeyID]
	To     string        `json:"to"`
	By     string        `json:"by"`
	Reason string        `json:"reason"`
	Ticket string        `json:"ticket,omitempty"`
	Time   time.Time     `json:"time"`
	Effect ledger.Effect `json:"effect"` // void: another key had taken that place
}

// changeAt returns what a report says of an order that changes the key.
func changeAt(o ledger.Order, leaf int64, before, after note.Verifier, effect ledger.Effect) KeyChange {
	return KeyChange{
		Leaf: leaf, From: ledger.KeyID(before), To: ledger.KeyID(after), By: o.By, Reason: o.Reason, Ticket: o.Ticket, Time: o.Time, Effect: effect,
	}
}

// Powerless is an order that had no effect, because a key has signed it that had
// been replaced by then. Whoever has that key is not who should have it.
type Powerless struct {
	Leaf   int64              `json:"leaf"`
	Key    string             `json:"key"`
	Action events.AuditAction `json:"action"`
}

// readKeys finds out which keys have signed: those that lead to the one that was
// given, and on from it. It believes the table of orders where to look; that the
// table has all of them, and nothing else, the walk finds out.
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

// orderAt returns the signed order that the event at leaf brings, empty if it brings
// none.
func orderAt(conn *sqlite.Conn, leaf int64) (string, error) {
	data, err := ledger.ReadPayload(conn, leaf)
	if errors.Is(err, ledger.ErrNoPayload) {
		return "", nil // which the walk finds out
	}
	if err != nil {
		return "", err
	}
	e, err := events.Decode(data)
	if err != nil {
		return "", nil //nolint:nilerr // and this too
	}
	return signedOrder(e), nil
}

func firstNote(conn *sqlite.Conn) (signed []byte, err error) {
	err = sqlitex.Execute(conn, "SELECT note FROM checkpoints ORDER BY checkpoint LIMIT 1",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error { signed = sqlitetx.Bytes(stmt, 0); return nil }})
	return signed, err
}

// changeKey takes an order that changes the key, where it comes.
func (s *orders) changeKey(leaf int64, signed string) {
	w := s.w
	o, before, after, err := ledger.OpenKeyChange([]byte(signed))
	if err != nil || o.Tenant != w.signed.tenant || s.ids[o.ID] {
		return
	}
	effect, counts := w.keys.Effect(leaf, before)
	if !counts {
		if w.keys.Chain.Index(before, 0) >= 0 {
			s.powerless(leaf, before, o)
		}
		return
	}
	s.ids[o.ID] = true
	if len(w.report.Keys) < maxOrders {
		w.report.Keys = append(w.report.Keys, changeAt(o, leaf, before, after, effect))
	}
	s.all = append(s.all, inReport(o, leaf, effect))
}

// tooLate notes an order that a key has signed which had been replaced.
func (s *orders) tooLate(leaf int64, signed string) {
	for _, k := range s.w.keys.Chain {
		if o, err := ledger.OpenOrder([]byte(signed), note.VerifierList(k)); err == nil && o.Tenant == s.w.signed.tenant && !s.ids[o.ID] {
			s.powerless(leaf, k, o)
		}
	}
}

func (s *orders) powerless(leaf int64, key note.Verifier, o ledger.Order) {
	r := &s.w.report
	if r.PowerlessCount++; len(r.Powerless) < maxProblems {
		r.Powerless = append(r.Powerless, Powerless{Leaf: leaf, Key: ledger.KeyID(key), Action: o.Action})
	}
}

// openTrusted checks who signed what lies outside the ledger, now that it is known
// whose word counts. What was given to be trusted needs no signature.
func (v *verifier) openTrusted() {
	for i := range v.trusted {
		t := &v.trusted[i]
		if t.signed == nil || t.found.Unusable {
			continue
		}
		if _, err := ledger.OpenCheckpoint(t.signed, v.keys.At(t.Size)); err != nil {
			t.found = Trusted{From: t.found.From, Beside: t.found.Beside, Unusable: true, Reason: err.Error()}
		}
	}
}

// reasonOfKey says why a checkpoint does not count that no key in charge has signed.
func reasonOfKey(err error, replaced int) error {
	if replaced > 0 && errors.As(err, new(*note.UnverifiedNoteError)) {
		return fmt.Errorf("none of the keys in charge there has signed it: %w", err)
	}
	return err
}
