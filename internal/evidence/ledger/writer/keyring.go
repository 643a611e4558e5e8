package writer

import "github.com/hooktrail/hooktrail/internal/evidence/ledger"

// ErrKey means that the ledger's current key is not in the local key folder. It counts as
// [ledger.ErrDamaged].
var ErrKey error = keyError{}

type keyError struct{}

func (keyError) Error() string { return "the key that is in charge of the ledger is not here" }

// Is returns true for [ledger.ErrDamaged].
func (keyError) Is(target error) bool { return target == ledger.ErrDamaged }

func (k *Key) first(tenant string) int {
	if tenant == "" { // see [Ledger.signAgain]
		return 0
	}
	for i, c := range k.changes {
		if c.Orders[tenant] != "" {
			return i
		}
	}
	return len(k.changes)
}

// Changes returns the signed orders that replaced the key in the tenant's ledger, without the
// first position changes of the key.
func (k *Key) Changes(tenant string, position int) (signed []string) {
	return ledger.RotationOrders(k.changes[min(position, len(k.changes)):], tenant)
}
