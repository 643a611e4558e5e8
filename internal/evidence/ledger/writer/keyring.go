package writer

import "github.com/hooktrail/hooktrail/internal/evidence/ledger"

// ErrKey is wrapped where a ledger was given to a key that is not here. It counts as
// [ledger.ErrDamaged]: no retry mends it, and nothing may be added to the ledger.
var ErrKey error = keyError{}

type keyError struct{}

// Error implements error.
func (keyError) Error() string { return "the key that is in charge of the ledger is not here" }

// Is makes it one of those that hold a ledger back.
func (keyError) Is(target error) bool { return target == ledger.ErrDamaged }

// first returns the position at which the ledger of a tenant begins: that of the
// oldest key which has signed it.
func (k *Key) first(tenant string) int {
	if tenant == "" { // no order reaches it: see [Ledger.signAgain]
		return 0
	}
	for i, c := range k.changes {
		if c.Orders[tenant] != "" {
			return i
		}
	}
	return len(k.changes)
}

// Changes returns the signed orders that put the key in charge of the ledger of a
// tenant, from a position on, in order: 0 is all of them.
func (k *Key) Changes(tenant string, position int) (signed []string) {
	return ledger.SuccessionOrders(k.changes[min(position, len(k.changes)):], tenant)
}
