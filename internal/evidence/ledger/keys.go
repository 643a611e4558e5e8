package ledger

import (
	"slices"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Keys are the signing keys that a ledger has had. Each key is valid from a certain record on.
type Keys struct {
	Chain Chain
	since []int64 // leaf of the order that introduced each key; -1 for the first key
	at    []int64 // the same, but -1 for a pending change
}

// KeyOrder is a signed order that replaces the ledger's key, or that adds or revokes an issuer.
type KeyOrder struct {
	Leaf    int64
	Signed  string
	Pending bool // the ledger has not recorded the order; Leaf is the size of the ledger at the change
}

// LinkKeys returns all signing keys of a tenant's ledger. It starts with a trusted key and follows
// the key changes in orders, which must be in the ledger and sorted by leaf. It also follows the
// key changes in others, from the ledgers of other tenants, because all ledgers of a data directory
// have the same key.
func LinkKeys(key note.Verifier, tenant string, orders []KeyOrder, others ...KeyOrder) Keys {
	var changes []keyChange
	for i, o := range slices.Concat(orders, others) {
		order, before, after, err := OpenKeyChange([]byte(o.Signed))
		if err == nil && (order.Tenant == tenant || i >= len(orders)) {
			changes = append(changes, keyChange{o.Leaf, o.Pending, order, []byte(o.Signed), before, after})
		}
	}
	return link(key, changes)
}

// OrderOf returns the signed order that an audit.accessed event contains, and the order's action.
// event is the JSON of the event. If it contains no order, signed is empty. The signature is not
// checked.
func OrderOf(event []byte) (signed string, action events.AuditAction) {
	e, err := events.Decode(event)
	if err != nil || e.Kind() != events.AuditAccessed {
		return "", ""
	}
	signed = OrderIn(e)
	o, err := readSignedOrder([]byte(signed))
	if err != nil {
		return "", ""
	}
	return signed, o.Action
}

// IsKeyOrder reports whether a note is an order to replace the tenant's signing key, signed by the
// old and the new key. It does not check whether the old key was valid in the ledger.
func IsKeyOrder(signed, tenant string) bool {
	o, _, _, err := OpenKeyChange([]byte(signed))
	return err == nil && o.Tenant == tenant
}

// At returns the keys that may sign a checkpoint of a ledger with this number of leaves.
func (k Keys) At(size int64) note.Verifiers { return k.Chain.From(k.Replaced(size)) }

// Replaced returns how many keys had been replaced when the ledger had this number of leaves.
func (k Keys) Replaced(size int64) (n int) {
	for _, since := range k.since[min(1, len(k.since)):] {
		if since < size {
			n++
		}
	}
	return n
}

// Signer returns the key of the ledger that signed a note, or nil if none of its keys did.
func (k Keys) Signer(signed []byte) note.Verifier {
	n, err := note.Open(signed, k.Chain.From(0))
	if err != nil || len(n.Sigs) == 0 {
		return nil
	}
	for _, v := range k.Chain {
		if v.KeyHash() == n.Sigs[0].Hash {
			return v
		}
	}
	return nil
}

// ChangedAt reports whether the record with the given leaf number is the order that introduced one
// of the keys.
func (k Keys) ChangedAt(leaf int64) bool { return leaf >= 0 && slices.Contains(k.at, leaf) }

// Effect returns the effect of the order with the given leaf number to replace oldKey. It is
// [EffectDone] if this order introduced the next key, and [EffectVoid] if it did not. valid is
// false if oldKey was not valid at that leaf.
func (k Keys) Effect(leaf int64, oldKey note.Verifier) (effect Effect, valid bool) {
	at := k.Chain.Index(oldKey, k.Replaced(leaf))
	switch {
	case at < 0:
		return "", false
	case at+1 < len(k.Chain) && k.at[at+1] == leaf:
		return EffectDone, true
	}
	return EffectVoid, true
}
