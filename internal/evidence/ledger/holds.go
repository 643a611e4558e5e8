package ledger

import (
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// LoadHolds returns the holds that are in force, in the order in which they came.
func LoadHolds(conn *sqlite.Conn) (holds []Order, err error) {
	leaves, err := sqlitetx.Ints(conn, `SELECT h.leaf FROM orders h WHERE h.action = 'hold' AND NOT EXISTS
		(SELECT 1 FROM orders x WHERE x.action = 'lift' AND x.hold = h.id AND x.effect = 'done') ORDER BY h.leaf`)
	for _, leaf := range leaves {
		if err != nil {
			break
		}
		var o Order
		o, err = ReadOrder(conn, leaf)
		holds = append(holds, o)
	}
	return holds, err
}

// ReadOrder returns the order that the event at leaf brought, whoever signed it.
func ReadOrder(conn *sqlite.Conn, leaf int64) (Order, error) {
	data, err := ReadPayload(conn, leaf)
	if err != nil {
		return Order{}, fmt.Errorf("payload of leaf %d: %w", leaf, err)
	}
	o, err := orderOf(data)
	if err != nil {
		return Order{}, fmt.Errorf("%w: leaf %d: %w", ErrDamaged, leaf, err)
	}
	return o, nil
}
