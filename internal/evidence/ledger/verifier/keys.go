package verifier

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/note"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// KeyChange describes an order that replaces the ledger's signing key.
type KeyChange struct {
	Leaf   int64         `json:"leaf"` // leaf of the event that contains the order
	From   string        `json:"from"` // id of a key
	To     string        `json:"to"`   // id of the new key
	By     string        `json:"by"`   // person that the order names
	Reason string        `json:"reason"`
	Ticket string        `json:"ticket,omitempty"`
	Time   time.Time     `json:"time"`   // when the order was given
	Effect ledger.Effect `json:"effect"` // void if another key had already replaced the old one
}

// PendingKey describes a replacement of the signing key that the ledger has not recorded yet.
type PendingKey struct {
	From   string    `json:"from"` // id of a key
	To     string    `json:"to"`   // id of the new key
	By     string    `json:"by"`   // person that the order names
	Reason string    `json:"reason"`
	Ticket string    `json:"ticket,omitempty"`
	Time   time.Time `json:"time"` // when the order was given
}

// Powerless describes an order that has no effect, because it was signed with a key that had
// already been replaced.
type Powerless struct {
	Leaf   int64              `json:"leaf"` // leaf of the event that contains the order
	Key    string             `json:"key"`  // id of the replaced key
	Action events.AuditAction `json:"action"`
}

// readKeys must run before the walk over the records, because any of the keys may have signed a
// record.
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
	pending, err := ledger.PendingKeys(conn, tenant, v.opts.Changes, found)
	if err != nil {
		return err
	}
	v.report.SetPending(pending)
	found = slices.Concat(found, pending)
	slices.SortStableFunc(found, func(a, b ledger.KeyOrder) int { return cmp.Compare(a.Leaf, b.Leaf) })
	v.anchorKeys(tenant, found)
	return v.readIssuers(conn, tenant)
}

// SetPending sets r.PendingKeys to the replacements of the signing key that the ledger has not
// recorded yet.
func (r *Report) SetPending(pending []ledger.KeyOrder) {
	r.PendingKeys = nil
	for _, p := range pending {
		o, before, after, err := ledger.OpenKeyChange([]byte(p.Signed))
		if err != nil {
			continue
		}
		r.PendingKeys = append(r.PendingKeys, PendingKey{
			From: ledger.KeyID(before), To: ledger.KeyID(after), By: o.By, Reason: o.Reason, Ticket: o.Ticket, Time: o.Time,
		})
	}
}

func orderAt(conn *sqlite.Conn, leaf int64) (string, error) {
	data, err := ledger.ReadPayload(conn, leaf)
	if errors.Is(err, ledger.ErrNoPayload) {
		return "", nil // the walk reports the missing record
	}
	if err != nil {
		return "", err
	}
	e, err := events.Decode(data)
	if err != nil {
		return "", nil //nolint:nilerr // the walk reports it
	}
	return ledger.OrderIn(e), nil
}

func firstNote(conn *sqlite.Conn) (signed []byte, err error) {
	err = sqlitex.Execute(conn, "SELECT note FROM checkpoints ORDER BY checkpoint LIMIT 1",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error { signed = sqlitetx.Bytes(stmt, 0); return nil }})
	return signed, err
}

func (s *orders) byReplacedKey(leaf int64, signed string) {
	for _, k := range s.keys.Chain {
		if o, err := ledger.OpenOrder([]byte(signed), note.VerifierList(k)); err == nil {
			s.powerless(leaf, k, o)
		}
	}
	if o, before, _, err := ledger.OpenKeyChange([]byte(signed)); err == nil && s.keys.Chain.Index(before, 0) >= 0 {
		s.powerless(leaf, before, o)
	}
}

func (s *orders) powerless(leaf int64, key note.Verifier, o ledger.Order) {
	if o.Tenant != s.w.signed.tenant || s.ids[o.ID] {
		return
	}
	r := &s.w.v.report
	if r.PowerlessCount++; len(r.Powerless) < maxProblems {
		r.Powerless = append(r.Powerless, Powerless{Leaf: leaf, Key: ledger.KeyID(key), Action: o.Action})
	}
}

func reasonOfKey(err error, replaced int) error {
	if replaced > 0 && errors.As(err, new(*note.UnverifiedNoteError)) {
		return fmt.Errorf("none of the keys in charge there has signed it: %w", err)
	}
	return err
}
