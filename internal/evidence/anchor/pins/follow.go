package pins

import (
	"slices"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

// Follow returns the keys that replaced key, one after the other, the oldest first. It only
// follows changes that both the old and the new key signed.
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

// Leads reports whether the key from was replaced by the key to, directly or through other keys.
// Only changes that both keys signed count.
func Leads(from, to string, changes []ledger.KeyRotation) bool {
	return slices.Contains(Follow(from, changes), to)
}
