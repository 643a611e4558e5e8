package ledger

import (
	"bytes"
	"slices"

	"golang.org/x/mod/sumdb/note"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// PendingKeys returns the orders that replace the key of a tenant's ledger but are not yet in the
// ledger. The leaf of each order is the size of the ledger at the key change.
//
// PendingKeys accepts an order only if the ledger has the checkpoint that the new key signed at the
// change. Otherwise a thief of the old key could use an order to continue the ledger or to sign
// another history.
func PendingKeys(conn *sqlite.Conn, tenant string, changes []KeyRotation, recorded []KeyOrder) (pending []KeyOrder, err error) {
	for _, c := range changes {
		signed := c.Orders[tenant]
		if signed == "" || slices.ContainsFunc(recorded, func(k KeyOrder) bool { return k.Signed == signed }) {
			continue
		}
		at, ok := c.openCheckpoint(tenant)
		if !ok {
			continue
		}
		if ok, err = hasCheckpoint(conn, at, []byte(c.Checkpoints[tenant])); err != nil {
			return nil, err
		}
		if ok {
			pending = append(pending, KeyOrder{Leaf: at.Size, Signed: signed})
		}
	}
	return pending, nil
}

// openCheckpoint returns the checkpoint of the tenant's ledger in c, which the new key must have
// signed. ok is false without a valid order or such a checkpoint.
func (c KeyRotation) openCheckpoint(tenant string) (at Checkpoint, ok bool) {
	o, _, after, err := OpenKeyChange([]byte(c.Orders[tenant]))
	if err != nil || o.Tenant != tenant {
		return at, false
	}
	at, err = OpenCheckpoint([]byte(c.Checkpoints[tenant]), note.VerifierList(after))
	return at, err == nil && at.Tenant == tenant
}

func hasCheckpoint(conn *sqlite.Conn, at Checkpoint, signed []byte) (has bool, err error) {
	err = sqlitex.Execute(conn, "SELECT note FROM checkpoints WHERE checkpoint = ?", &sqlitex.ExecOptions{
		Args:       []any{at.Number},
		ResultFunc: func(stmt *sqlite.Stmt) error { has = sameText(sqlitetx.Bytes(stmt, 0), signed); return nil },
	})
	return has, err
}

// Countersigned returns the copy of a checkpoint that a new key signed at the newest key change
// with such a copy. It returns signed itself if there is no copy, or if witnesses cosigned the
// checkpoint.
func Countersigned(signed []byte, tenant string, changes []KeyRotation) []byte {
	if bytes.Count(signed, []byte("\n\u2014 ")) > 1 {
		return signed
	}
	for _, c := range slices.Backward(changes) {
		again := []byte(c.Checkpoints[tenant])
		if _, ok := c.openCheckpoint(tenant); ok && sameText(again, signed) {
			return again
		}
	}
	return signed
}

func sameText(a, b []byte) bool {
	x, _, okA := bytes.Cut(a, []byte("\n\n"))
	y, _, okB := bytes.Cut(b, []byte("\n\n"))
	return okA && okB && bytes.Equal(x, y)
}
