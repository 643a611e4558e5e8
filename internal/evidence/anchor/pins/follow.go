package pins

import (
	"slices"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

// Follow returns the keys that replaced a key, one after the other. Only changes that both keys
// signed count.
func Follow(key string, changes []ledger.KeyRotation) (later []string) {
	for {
		i := slices.IndexFunc(changes, func(c ledger.KeyRotation) bool { return c.Old == key && isSigned(c) })
		if i < 0 || slices.Contains(later, changes[i].New) {
			return later
		}
		key = changes[i].New
		later = append(later, key)
	}
}

func isSigned(c ledger.KeyRotation) bool {
	for tenant, signed := range c.Orders {
		o, _, _, err := ledger.OpenKeyChange([]byte(signed))
		if err == nil && o.Tenant == tenant && o.Old == c.Old && o.Key == c.New {
			return true
		}
	}
	return false
}

// Leads reports whether signed changes lead from one key to another.
func Leads(from, to string, changes []ledger.KeyRotation) bool {
	return slices.Contains(Follow(from, changes), to)
}
