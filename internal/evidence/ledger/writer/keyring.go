package writer

import "github.com/hooktrail/hooktrail/internal/evidence/ledger"

// ErrKey means that the local key folder does not contain the ledger's current key. [errors.Is]
// treats it as [ledger.ErrDamaged].
var ErrKey error = keyError{}

type keyError struct{}

func (keyError) Error() string { return "the key that is in charge of the ledger is not here" }

// Is makes [errors.Is] treat the error as [ledger.ErrDamaged].
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

// Changes returns the signed orders that replaced the key in the tenant's ledger, without the first
// ones. position is the number of changes to skip.
func (k *Key) Changes(tenant string, position int) (signed []string) {
	return ledger.RotationOrders(k.changes[min(position, len(k.changes)):], tenant)
}
