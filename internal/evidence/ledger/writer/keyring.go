package writer

import "github.com/hooktrail/hooktrail/internal/evidence/ledger"

// ErrKey is wrapped if the key in charge of a ledger is not here. It is also
// [ledger.ErrDamaged], because a retry does not help.
var ErrKey error = keyError{}

type keyError struct{}

func (keyError) Error() string { return "the key that is in charge of the ledger is not here" }

// Is reports that the error is also [ledger.ErrDamaged].
func (keyError) Is(target error) bool { return target == ledger.ErrDamaged }

// first returns the index of the oldest key in the ring that signed the ledger of a tenant.
func (k *Key) first(tenant string) int {
	if tenant == "" { // no order can change its key, see [Ledger.signAgain]
		return 0
	}
	for i, c := range k.changes {
		if c.Orders[tenant] != "" {
			return i
		}
	}
	return len(k.changes)
}

// Changes returns the signed orders for a tenant's ledger that put the keys after a position
// in the ring in charge.
func (k *Key) Changes(tenant string, position int) (signed []string) {
	return ledger.RotationOrders(k.changes[min(position, len(k.changes)):], tenant)
}
