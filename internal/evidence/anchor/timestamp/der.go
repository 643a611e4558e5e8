package timestamp

import (
	"crypto"
	"encoding/asn1"
	"math/big"

	"golang.org/x/crypto/cryptobyte"
	tag "golang.org/x/crypto/cryptobyte/asn1"
)

// After an unexpected element, bad stays true, so one check at the end of a DER value suffices.
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

func (d *der) end() { d.check(d.in.Empty()) }

func (d *der) enter(t tag.Tag) der {
	inside := der{bad: d.bad}
	d.check(d.in.ReadASN1(&inside.in, t))
	return inside
}

func (d *der) enterOnly(t tag.Tag) der {
	inside := d.enter(t)
	d.end()
	return inside
}

func (d *der) has(t tag.Tag) bool { return d.in.PeekASN1Tag(t) }

func (d *der) skipOptional(t tag.Tag) { d.check(d.in.SkipOptionalASN1(t)) }

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

func (d *der) count(t tag.Tag) (n int64) {
	d.check(d.in.ReadASN1Int64WithTag(&n, t) && n >= 0)
	return n
}

func (d *der) optionalBool() (v bool) {
	if d.has(tag.BOOLEAN) {
		d.check(d.in.ReadASN1Boolean(&v))
	}
	return v
}

func (d *der) noParameters() {
	if d.has(tag.NULL) {
		null := d.enter(tag.NULL)
		null.end()
	}
	d.end()
}

// pssParameters reads RSASSA-PSS-params (RFC 4055, 3.1). All hash functions in them must be h.
func (d *der) pssParameters(h crypto.Hash) {
	in := d.enterOnly(tag.SEQUENCE)
	hash := in.enter(explicit(0))
	d.checkHash(hash.enterOnly(tag.SEQUENCE), h)
	wrapped := in.enter(explicit(1))
	mask := wrapped.enterOnly(tag.SEQUENCE)
	d.check(mask.oid().Equal(oidMGF1))
	d.checkHash(mask.enterOnly(tag.SEQUENCE), h)
	salt := in.enter(explicit(2))
	length := salt.count(tag.INTEGER)
	salt.end()
	in.end()
	d.check(!*d.bad && length == int64(h.Size()))
}

func (d *der) checkHash(algorithm der, want crypto.Hash) {
	h, err := hashOf(algorithm)
	d.check(err == nil && h == want)
}

const constructed tag.Tag = 0x20

func isDER(data []byte) bool {
	for in := cryptobyte.String(data); !in.Empty(); {
		var content cryptobyte.String
		var t tag.Tag
		if !in.ReadAnyASN1(&content, &t) {
			return false
		}
		ok := true
		switch {
		case t == tag.NULL:
			ok = len(content) == 0
		case t == tag.BOOLEAN:
			ok = len(content) == 1 && (content[0] == 0 || content[0] == 0xff)
		case t&constructed != 0:
			ok = isDER(content)
		}
		if !ok {
			return false
		}
	}
	return true
}

// isCertificate rejects certificates with additional elements, some of which
// [x509.ParseCertificate] ignores.
func isCertificate(data []byte) bool {
	in := newDER(data)
	cert := in.enterOnly(tag.SEQUENCE)
	content := cert.enter(tag.SEQUENCE)
	cert.element(tag.SEQUENCE)
	cert.bytes(tag.BIT_STRING)
	cert.end()
	if content.has(explicit(0)) {
		version := content.enter(explicit(0))
		version.enterOnly(tag.INTEGER)
	}
	content.integer()
	for range 5 { // algorithm, issuer, validity, subject and key
		content.element(tag.SEQUENCE)
	}
	content.skipOptional(tag.Tag(1).ContextSpecific())
	content.skipOptional(tag.Tag(2).ContextSpecific())
	if content.has(explicit(3)) {
		wrapped := content.enter(explicit(3))
		for list := wrapped.enterOnly(tag.SEQUENCE); !list.in.Empty() && !*in.bad; {
			one := list.enter(tag.SEQUENCE)
			one.oid()
			one.optionalBool()
			one.enterOnly(tag.OCTET_STRING)
		}
	}
	content.end()
	return !*in.bad && isDER(data)
}

func explicit(n uint8) tag.Tag { return tag.Tag(n).Constructed().ContextSpecific() }
