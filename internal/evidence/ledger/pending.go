package ledger

import (
	"bytes"
	"context"
	"slices"

	"golang.org/x/mod/sumdb/note"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// PendingKeys returns the orders to replace the signing key that the ledger has not recorded yet.
// An order counts only if the ledger has the checkpoint that the new key signed. Otherwise, a
// thief of the old key could add an order.
func PendingKeys(conn *sqlite.Conn, tenant string, changes []KeyRotation, recorded []KeyOrder) (pending []KeyOrder, err error) {
	for _, c := range changes {
		signed := c.Orders[tenant]
		if signed == "" || slices.ContainsFunc(recorded, func(k KeyOrder) bool { return k.Signed == signed }) {
			continue
		}
		at, ok := c.pending(tenant).Open(tenant)
		if !ok {
			continue
		}
		if ok, err = hasCheckpoint(conn, at, []byte(c.Checkpoints[tenant])); err != nil {
			return nil, err
		}
		if ok {
			pending = append(pending, KeyOrder{Leaf: at.Size, Signed: signed, Pending: true})
		}
	}
	return pending, nil
}

// PendingChange is a replacement of the signing key that is not yet recorded in the ledger or
// export.
type PendingChange struct {
	Order      string   `json:"order"`           // signed by the old and the new key
	Checkpoint string   `json:"checkpoint"`      // newest one at the change, signed by the new key
	Proof      []string `json:"proof,omitempty"` // that the checkpoint of the export continues it
}

func (c KeyRotation) pending(tenant string) PendingChange {
	return PendingChange{Order: c.Orders[tenant], Checkpoint: c.Checkpoints[tenant]}
}

// Open returns the checkpoint that the new key signed when it replaced the old key. ok is false if
// the order or the checkpoint is invalid.
func (p PendingChange) Open(tenant string) (at Checkpoint, ok bool) {
	o, _, after, err := OpenKeyChange([]byte(p.Order))
	if err != nil || o.Tenant != tenant {
		return at, false
	}
	at, err = OpenCheckpoint([]byte(p.Checkpoint), note.VerifierList(after))
	return at, err == nil && at.Tenant == tenant
}

// PendingKeys returns the key changes that are not recorded in the first size leaves. It does not
// set [PendingChange.Proof].
func (r Orders) PendingKeys(ctx context.Context, tenant string, changes []KeyRotation, size int64) (list []PendingChange, err error) {
	err = r.source.view(ctx, func(conn *sqlite.Conn) error {
		recorded, err := recordedKeys(conn, size)
		if err != nil {
			return err
		}
		pending, err := PendingKeys(conn, tenant, changes, recorded)
		for _, c := range changes {
			if slices.ContainsFunc(pending, func(k KeyOrder) bool { return k.Signed == c.Orders[tenant] && k.Leaf <= size }) {
				list = append(list, c.pending(tenant))
			}
		}
		return err
	})
	return list, err
}

// RecordedKeys returns the orders in the first size leaves that replace the signing key. It does
// not check their signatures.
func (r Orders) RecordedKeys(ctx context.Context, size int64) (recorded []KeyOrder, err error) {
	err = r.source.view(ctx, func(conn *sqlite.Conn) error {
		recorded, err = recordedKeys(conn, size)
		return err
	})
	return recorded, err
}

func recordedKeys(conn *sqlite.Conn, size int64) (recorded []KeyOrder, err error) {
	leaves, err := sqlitetx.Ints(conn, "SELECT leaf FROM orders NOT INDEXED WHERE action = 'key' ORDER BY leaf")
	for _, leaf := range leaves {
		if leaf >= size || err != nil {
			break
		}
		var signed string
		_, signed, err = readOrder(conn, leaf)
		recorded = append(recorded, KeyOrder{Leaf: leaf, Signed: signed})
	}
	return recorded, err
}

func hasCheckpoint(conn *sqlite.Conn, at Checkpoint, signed []byte) (has bool, err error) {
	err = sqlitex.Execute(conn, "SELECT note FROM checkpoints WHERE checkpoint = ?", &sqlitex.ExecOptions{
		Args:       []any{at.Number},
		ResultFunc: func(stmt *sqlite.Stmt) error { has = sameText(sqlitetx.Bytes(stmt, 0), signed); return nil },
	})
	return has, err
}

// Countersigned returns the same checkpoint with the signature of a newer key, if a key change
// stored such a copy. A checkpoint that witnesses have cosigned stays unchanged, because the copy
// lacks their signatures.
func Countersigned(signed []byte, tenant string, changes []KeyRotation) []byte {
	if bytes.Count(signed, []byte("\n\u2014 ")) > 1 {
		return signed
	}
	for _, c := range slices.Backward(changes) {
		again := c.pending(tenant)
		if _, ok := again.Open(tenant); ok && sameText([]byte(again.Checkpoint), signed) {
			return []byte(again.Checkpoint)
		}
	}
	return signed
}

func sameText(a, b []byte) bool {
	x, _, okA := bytes.Cut(a, []byte("\n\n"))
	y, _, okB := bytes.Cut(b, []byte("\n\n"))
	return okA && okB && bytes.Equal(x, y)
}
