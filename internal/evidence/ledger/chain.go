package ledger

import (
	"fmt"
	"math"
	"slices"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Chain are the keys of a ledger, each with its successor behind it. Where an
// order has put one in charge, those before it count no more, and those behind it
// do: what was signed again with a later key is no worse for that.
type Chain []note.Verifier

// From returns the keys that count where that many have been replaced.
func (c Chain) From(position int) note.Verifiers {
	return note.VerifierList(c[min(max(position, 0), len(c)):]...)
}

// Index returns where a key is in the chain, from a position on; -1 if it is not.
func (c Chain) Index(key note.Verifier, from int) int {
	for i := max(from, 0); i < len(c); i++ {
		if SameKey(c[i], key) {
			return i
		}
	}
	return -1
}

// knownKey is a verifier that knows its own text.
type knownKey struct {
	note.Verifier

	text string
}

// SameKey reports whether two keys of known text are one. Others are none that
// anything was compared with.
func SameKey(a, b note.Verifier) bool {
	x, ok := a.(knownKey)
	y, ok2 := b.(knownKey)
	return ok && ok2 && x.text == y.text
}

// ParseKey reads a verifier key for a chain.
func ParseKey(text string) (note.Verifier, error) {
	v, err := note.NewVerifier(text)
	if err != nil {
		return nil, err
	}
	return knownKey{v, text}, nil
}

// SignKeyChange signs an order that puts a new key in the place of an old one:
// both sign, the old one because it orders it, and the new one so that nobody can
// claim to have been the key before it.
func SignKeyChange(o Order, before, after note.Signer) ([]byte, error) { return o.sign(before, after) }

// OpenKeyChange reads a signed order that changes the key. Its two keys, which it
// names, have to have signed it, and nobody else. That the old one has a say in
// anything is for the caller to find out.
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

// IsKeyChange reports whether a signed order says that it changes the key.
func IsKeyChange(signed string) bool {
	o, err := readSignedOrder([]byte(signed))
	return err == nil && o.Action == events.AuditKey
}

// keyChange is an order that changes the key, where it came.
type keyChange struct {
	leaf          int64
	order         Order
	signed        []byte
	before, after note.Verifier
}

// known returns a key as the changes name it that it has signed.
func known(key note.Verifier, changes []keyChange) note.Verifier {
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

// link returns the chain that leads to a key, and on from it, by changes in the
// order in which they came, and the leaves that brought each key of it; -1 for the
// first one.
//
// Backwards a change counts because the later key has signed it too; forwards the
// first one counts that a key in charge has signed: who steals a key that was
// replaced comes too late.
func link(key note.Verifier, changes []keyChange) (c Chain, since []int64) {
	key = known(key, changes)
	c, since = Chain{key}, []int64{-1}
	for until := int64(math.MaxInt64); ; {
		i := slices.IndexFunc(changes, func(k keyChange) bool { return SameKey(k.after, c[0]) && k.leaf < until })
		if i < 0 || c.Index(changes[i].before, 0) >= 0 {
			break
		}
		k := changes[i]
		since[0], until = k.leaf, k.leaf
		c, since = append(Chain{k.before}, c...), append([]int64{-1}, since...)
	}
	for {
		last := len(c) - 1
		i := slices.IndexFunc(changes, func(k keyChange) bool { return SameKey(k.before, c[last]) && k.leaf > since[last] })
		if i < 0 || c.Index(changes[i].after, 0) >= 0 {
			return c, since
		}
		c, since = append(c, changes[i].after), append(since, changes[i].leaf)
	}
}
