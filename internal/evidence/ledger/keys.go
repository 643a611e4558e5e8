package ledger

import (
	"slices"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Keys are the keys that have signed a ledger, and which of them count where: at
// first all, and where an order put another one in charge, none of those before it.
type Keys struct {
	Chain Chain
	since []int64 // the leaves that brought them; -1 for the first
}

// KeyOrder is a signed order that changes the key, and the leaf of the event that
// brought it.
type KeyOrder struct {
	Leaf   int64
	Signed string
}

// LinkKeys returns the keys of the ledger of a tenant, of which one is known: those
// that led to it, and those that it led to, by orders in the order of their leaves.
// Orders that say nothing are passed over. That the leaves are those of the ledger
// is for the caller to check.
func LinkKeys(key note.Verifier, tenant string, orders []KeyOrder) Keys {
	var changes []keyChange
	for _, o := range orders {
		order, before, after, err := OpenKeyChange([]byte(o.Signed))
		if err == nil && order.Tenant == tenant {
			changes = append(changes, keyChange{o.Leaf, order, []byte(o.Signed), before, after})
		}
	}
	list, since := link(key, changes)
	return Keys{list, since}
}

// KeyOrderOf returns the signed order that an event brings, if it is one that
// changes the key.
func KeyOrderOf(event []byte) (signed string, ok bool) {
	e, err := events.Decode(event)
	if err != nil || e.Kind() != events.AuditAccessed {
		return "", false
	}
	d, err := events.Payload[events.AuditAccessedData](e)
	return d.Order, err == nil && IsKeyChange(d.Order)
}

// IsKeyOrder reports whether a signed order changes the key of a tenant's ledger, if
// its old key has a say there: both of its keys have signed it.
func IsKeyOrder(signed, tenant string) bool {
	o, _, _, err := OpenKeyChange([]byte(signed))
	return err == nil && o.Tenant == tenant
}

// At returns the keys that count where there are that many leaves: for the
// checkpoint of that size, and for an order that comes next.
func (k Keys) At(size int64) note.Verifiers { return k.Chain.From(k.Replaced(size)) }

// Replaced returns how many keys count no more where there are that many leaves.
func (k Keys) Replaced(size int64) (n int) {
	for _, since := range k.since[min(1, len(k.since)):] {
		if since < size {
			n++
		}
	}
	return n
}

// Signer returns the key that has signed a note, nil if none of them has.
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

// Brought reports whether the event at a leaf put one of the keys in charge.
func (k Keys) Brought(leaf int64) bool { return leaf >= 0 && slices.Contains(k.since, leaf) }

// Effect returns what came of an order that changes the key, which the event at a
// leaf brings. counts is false where its old key has no say.
func (k Keys) Effect(leaf int64, before note.Verifier) (effect Effect, counts bool) {
	at := k.Chain.Index(before, k.Replaced(leaf))
	switch {
	case at < 0:
		return "", false
	case at+1 < len(k.Chain) && k.since[at+1] == leaf:
		return EffectDone, true
	}
	return EffectVoid, true
}
