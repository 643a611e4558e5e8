package writer

import "github.com/hooktrail/hooktrail/internal/evidence/ledger"

// ErrKey is wrapped if a ledger has been put under a key that is not in the local key folder.
// errors.Is(err, [ledger.ErrDamaged]) is also true for it, because a retry does not help.
var ErrKey error = keyError{}

type keyError struct{}

func (keyError) Error() string { return "the key that is in charge of the ledger is not here" }

// Is returns true for [ledger.ErrDamaged].
func (keyError) Is(target error) bool { return target == ledger.ErrDamaged }

// first returns the index in the ring of the first key that signed the ledger of tenant.
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

// Changes returns the signed orders for the ledger of tenant that put the keys with an index
// above position in charge.
func (k *Key) Changes(tenant string, position int) (signed []string) {
	return ledger.RotationOrders(k.changes[min(position, len(k.changes)):], tenant)
}
