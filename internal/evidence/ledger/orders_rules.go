package ledger

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// LoadRules returns the rules that earlier orders have set for later orders. It does not check
// signatures.
func LoadRules(conn *sqlite.Conn) (rules Rules, err error) {
	leaves, err := sqlitetx.Ints(conn, "SELECT leaf FROM orders WHERE action IN ('floor', 'approvers') AND effect = 'done' ORDER BY leaf")
	for _, leaf := range leaves {
		if err != nil {
			break
		}
		var o Order
		o, err = ReadOrder(conn, leaf)
		rules.Apply(o)
	}
	return rules, err
}

// Rules returns the rules that earlier orders have set for later orders.
func (r Orders) Rules(ctx context.Context) (rules Rules, err error) {
	err = r.source.view(ctx, func(conn *sqlite.Conn) error {
		rules, err = LoadRules(conn)
		return err
	})
	return rules, err
}

// Proposal is an order that waits for the signature of a second person.
type Proposal struct {
	Order   Order
	Leaf    int64     // leaf of the event that contains the order
	Signed  []byte    // an approver appends a signature
	Expires time.Time // under the rule in force
}

// Proposals returns the orders that wait for the signature of a second person, the oldest first. It
// also returns expired ones.
func (r Orders) Proposals(ctx context.Context) (list []Proposal, err error) {
	err = r.source.view(ctx, func(conn *sqlite.Conn) error {
		rules, err := LoadRules(conn)
		if err != nil {
			return err
		}
		leaves, err := sqlitetx.Ints(conn, "SELECT leaf FROM orders WHERE effect = 'proposed' ORDER BY leaf")
		for _, leaf := range leaves {
			if err != nil {
				break
			}
			var o Order
			var signed string
			o, signed, err = readOrder(conn, leaf)
			list = append(list, Proposal{Order: o, Leaf: leaf, Signed: []byte(signed), Expires: rules.Expires(o)})
		}
		return err
	})
	return list, err
}
