package ledger

import (
	"fmt"
	"math"
	"slices"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Chain lists the signing keys of a ledger, the oldest first. A key may sign until an order
// replaces it with the next key.
type Chain []note.Verifier

// From returns the keys whose index is position or higher.
func (c Chain) From(position int) note.Verifiers {
	return note.VerifierList(c[min(max(position, 0), len(c)):]...)
}

// Index returns the index of the given key, or -1 if the chain does not contain it. The search
// starts at index from.
func (c Chain) Index(key note.Verifier, from int) int {
	for i := max(from, 0); i < len(c); i++ {
		if SameKey(c[i], key) {
			return i
		}
	}
	return -1
}

type textKey struct {
	note.Verifier

	text string
}

// SameKey reports whether a and b are the same key. It returns false if one of them does not come
// from [ParseKey].
func SameKey(a, b note.Verifier) bool {
	x, ok := a.(textKey)
	y, ok2 := b.(textKey)
	return ok && ok2 && x.text == y.text
}

// ParseKey parses a verifier key in the format of package note. [SameKey] works only with the
// results of ParseKey.
func ParseKey(text string) (note.Verifier, error) {
	v, err := note.NewVerifier(text)
	if err != nil {
		return nil, err
	}
	return textKey{v, text}, nil
}

// SignKeyChange signs the order o, which replaces the signing key, with the old and the new key.
// The signature of the new key proves that the author of the order has this key.
func SignKeyChange(o Order, oldSigner, newSigner note.Signer) ([]byte, error) {
	return o.sign(oldSigner, newSigner)
}

// OpenKeyChange reads an order to replace a signing key, and checks the signatures of both keys.
// The caller must check that the old key was valid in the ledger.
func OpenKeyChange(signed []byte) (o Order, before, after note.Verifier, err error) {
	o, err = readSignedOrder(signed)
	if err != nil {
		return o, nil, nil, err
	}
	if o.Action != events.AuditKey {
		return o, nil, nil, fmt.Errorf("%w: it changes no key", errOrder)
	}
	if before, err = ParseKey(o.Old); err != nil {
		return o, nil, nil, fmt.Errorf("%w: old: %w", errOrder, err)
	}
	if after, err = ParseKey(o.Key); err != nil {
		return o, nil, nil, fmt.Errorf("%w: key: %w", errOrder, err)
	}
	n, err := note.Open(signed, note.VerifierList(before, after))
	if err != nil {
		return o, nil, nil, fmt.Errorf("open order: %w", err)
	}
	if len(n.Sigs) != 2 || n.Sigs[0].Hash != before.KeyHash() || n.Sigs[1].Hash != after.KeyHash() || !isAsWritten(signed, n) {
		return o, nil, nil, fmt.Errorf("%w: it has something besides the signatures of the old and the new key", errOrder)
	}
	return o, before, after, nil
}

// IsKeyChange reports whether a signed order replaces the signing key of a ledger. It does not
// check the signatures.
func IsKeyChange(signed string) bool {
	o, err := readSignedOrder([]byte(signed))
	return err == nil && o.Action == events.AuditKey
}

type keyChange struct {
	leaf          int64
	pending       bool
	order         Order
	signed        []byte
	before, after note.Verifier
}

// namedKey returns the copy of key in changes, or key itself if there is none, because [SameKey]
// cannot compare verifiers that do not come from [ParseKey].
func namedKey(key note.Verifier, changes []keyChange) note.Verifier {
	for _, c := range changes {
		for _, named := range [...]note.Verifier{c.before, c.after} {
			if named.Name() != key.Name() || named.KeyHash() != key.KeyHash() {
				continue
			}
			if _, err := note.Open(c.signed, note.VerifierList(key)); err == nil {
				return named
			}
		}
	}
	return key
}

func (k keyChange) recordedAt() int64 {
	if k.pending {
		return -1
	}
	return k.leaf
}

// link ignores an order with which a replaced key chooses another successor, because a thief may
// have this key. changes must be sorted by leaf.
func link(key note.Verifier, changes []keyChange) Keys {
	key = namedKey(key, changes)
	c, since, at := Chain{key}, []int64{-1}, []int64{-1}
	for until := int64(math.MaxInt64); ; {
		i := slices.IndexFunc(changes, func(k keyChange) bool { return SameKey(k.after, c[0]) && k.leaf <= until })
		if i < 0 || c.Index(changes[i].before, 0) >= 0 {
			break
		}
		k := changes[i]
		since[0], at[0] = k.leaf, k.recordedAt()
		if !k.pending {
			until = k.leaf
		}
		c, since, at = append(Chain{k.before}, c...), append([]int64{-1}, since...), append([]int64{-1}, at...)
	}
	for {
		last := len(c) - 1
		i := slices.IndexFunc(changes, func(k keyChange) bool { return SameKey(k.before, c[last]) && (k.pending || k.leaf >= since[last]) })
		if i < 0 || c.Index(changes[i].after, 0) >= 0 {
			for i := range since[1:] {
				since[i+1] = max(since[i], since[i+1])
			}
			return Keys{c, since, at}
		}
		c, since, at = append(c, changes[i].after), append(since, changes[i].leaf), append(at, changes[i].recordedAt())
	}
}
