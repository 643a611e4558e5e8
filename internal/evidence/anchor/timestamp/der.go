package timestamp

import (
	"encoding/asn1"
	"math/big"

	"golang.org/x/crypto/cryptobyte"
	tag "golang.org/x/crypto/cryptobyte/asn1"
)

// der reads the elements of a DER value. After an unexpected element, bad is true and the results
// are invalid.
type der struct {
	in  cryptobyte.String
	bad *bool // shared with the values inside
}

func newDER(data []byte) der { return der{data, new(bool)} }

func (d *der) check(ok bool) {
	if !ok {
		*d.bad = true
	}
}

// end expects that nothing follows.
func (d *der) end() { d.check(d.in.Empty()) }

// enter reads an element and returns its content.
func (d *der) enter(t tag.Tag) der {
	inside := der{bad: d.bad}
	d.check(d.in.ReadASN1(&inside.in, t))
	return inside
}

// enterOnly reads the last element and returns its content.
func (d *der) enterOnly(t tag.Tag) der {
	inside := d.enter(t)
	d.end()
	return inside
}

// has reports whether an optional element follows.
func (d *der) has(t tag.Tag) bool { return d.in.PeekASN1Tag(t) }

func (d *der) skipOptional(t tag.Tag) { d.check(d.in.SkipOptionalASN1(t)) }

// element reads an element with its tag.
func (d *der) element(t tag.Tag) []byte {
	var out cryptobyte.String
	d.check(d.in.ReadASN1Element(&out, t))
	return out
}

func (d *der) anyElement() []byte {
	var out cryptobyte.String
	var t tag.Tag
	d.check(d.in.ReadAnyASN1Element(&out, &t))
	return out
}

func (d *der) bytes(t tag.Tag) []byte { return d.enter(t).in }

func (d *der) oid() (oid asn1.ObjectIdentifier) {
	d.check(d.in.ReadASN1ObjectIdentifier(&oid))
	return oid
}

func (d *der) integer() *big.Int {
	n := new(big.Int)
	d.check(d.in.ReadASN1Integer(n))
	return n
}

// count reads a number that is not negative.
func (d *der) count(t tag.Tag) (n int64) {
	d.check(d.in.ReadASN1Int64WithTag(&n, t) && n >= 0)
	return n
}

func (d *der) optionalBool() (v bool) {
	d.check(d.in.ReadOptionalASN1Boolean(&v, tag.BOOLEAN, false))
	return v
}

func explicit(n uint8) tag.Tag { return tag.Tag(n).Constructed().ContextSpecific() }
