package timestamp

import (
	"bytes"
	"crypto"
	_ "crypto/sha256" // for the hashes of tokens
	_ "crypto/sha512"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"

	tag "golang.org/x/crypto/cryptobyte/asn1"
)

// MaxTokenBytes limits the size of a token, which contains the certificates of the TSA.
const MaxTokenBytes = 64 << 10

var (
	oidSignedData    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	oidTSTInfo       = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}
	oidContentType   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 3}
	oidMessageDigest = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 4}
	oidSigningCert   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 12}
	oidSigningCertV2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 47}
	oidSHA256        = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
)

var errToken = errors.New("it is not a time stamp token in DER")

// A Token is a parsed time stamp token, whose signature is not checked yet.
type Token struct {
	Info

	content []byte                  // encoded TSTInfo
	digests []asn1.ObjectIdentifier // hash functions that the token says it uses
	certs   []*x509.Certificate
	signer  signerInfo
}

// signerInfo is the SignerInfo of CMS (RFC 5652).
type signerInfo struct {
	issuer, serial, keyID []byte // either issuer and serial, or keyID
	digest                crypto.Hash
	attributes            map[string][]byte // value of each signed attribute by OID
	signed                []byte            // signed attributes, as they were signed
	algorithm             asn1.ObjectIdentifier
	signature             []byte
}

// Parse parses a token without checking its signature.
func Parse(token []byte) (*Token, error) {
	if len(token) > MaxTokenBytes {
		return nil, fmt.Errorf("the token has more than %d bytes", MaxTokenBytes)
	}
	t, in := new(Token), newDER(token)
	info := in.enterOnly(tag.SEQUENCE)
	if kind := info.oid(); !kind.Equal(oidSignedData) {
		return nil, errToken
	}
	wrapped := info.enterOnly(explicit(0))
	signers, err := t.signedData(wrapped.enterOnly(tag.SEQUENCE))
	if err != nil {
		return nil, err
	}
	one := signers.enter(tag.SEQUENCE)
	if signers.end(); *in.bad {
		return nil, errors.New("the token does not have exactly one signature")
	}
	if t.signer, err = parseSigner(one); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(t.digests, func(oid asn1.ObjectIdentifier) bool { return hashes[oid.String()] == t.signer.digest }) {
		return nil, errors.New("the token does not list the hash function of its signature")
	}
	t.Info, err = parseInfo(t.content)
	return t, err
}

func (t *Token) signedData(in der) (signers der, err error) {
	version := in.count(tag.INTEGER)
	in.check(version >= 3 && version <= 5) // of content other than data (RFC 5652, 5.1)
	t.readDigests(in.enter(tag.SET))
	encapsulated := in.enter(tag.SEQUENCE)
	kind := encapsulated.oid()
	wrapped := encapsulated.enterOnly(explicit(0))
	content := wrapped.enterOnly(tag.OCTET_STRING)
	t.content = content.in
	if in.has(explicit(0)) {
		t.readCerts(in.enter(explicit(0)))
	}
	if in.has(explicit(1)) {
		readRevocations(in.enter(explicit(1)))
	}
	signers = in.enterOnly(tag.SET)
	switch {
	case *in.bad:
		return signers, errToken
	case !kind.Equal(oidTSTInfo):
		return signers, errors.New("the signed content is not a time stamp")
	}
	return signers, nil
}

func (t *Token) readDigests(in der) {
	for !in.in.Empty() && !*in.bad {
		one := in.enter(tag.SEQUENCE)
		t.digests = append(t.digests, one.oid())
		one.noParameters()
	}
}

func (t *Token) readCerts(in der) {
	for !in.in.Empty() && !*in.bad {
		raw := in.anyElement()
		c, err := x509.ParseCertificate(raw)
		in.check(err == nil && isCertificate(raw))
		t.certs = append(t.certs, c)
	}
}

func readRevocations(in der) {
	for !in.in.Empty() && !*in.bad {
		_, err := x509.ParseRevocationList(in.anyElement())
		in.check(err == nil)
	}
}

func parseSigner(in der) (s signerInfo, err error) {
	version := in.count(tag.INTEGER)
	if keyID := tag.Tag(0).ContextSpecific(); in.has(keyID) {
		in.check(version == 3)
		s.keyID = in.bytes(keyID)
	} else {
		in.check(version == 1)
		id := in.enter(tag.SEQUENCE)
		s.issuer, s.serial = id.element(tag.SEQUENCE), id.bytes(tag.INTEGER)
		id.end()
	}
	if s.digest, err = hashOf(in.enter(tag.SEQUENCE)); err != nil {
		return s, err
	}
	if !in.has(explicit(0)) {
		return s, errors.New("the signature has no signed attributes")
	}
	attributes := in.element(explicit(0))
	algorithm := in.enter(tag.SEQUENCE)
	if s.algorithm = algorithm.oid(); s.algorithm.Equal(oidPSS) {
		algorithm.pssParameters(s.digest)
	} else {
		algorithm.noParameters()
	}
	s.signature = in.bytes(tag.OCTET_STRING)
	if in.has(explicit(1)) {
		readUnsigned(in.enter(explicit(1)))
	}
	if in.end(); *in.bad {
		return s, errToken
	}
	// The signature covers the attributes with the tag SET instead of their own tag (RFC 5652,
	// 5.4).
	s.signed = bytes.Clone(attributes)
	s.signed[0] = byte(tag.SET)
	s.attributes, err = parseAttributes(newDER(attributes))
	return s, err
}

func readUnsigned(in der) {
	for !in.in.Empty() && !*in.bad {
		one := in.enter(tag.SEQUENCE)
		one.oid()
		one.check(isDER(one.bytes(tag.SET)))
		one.end()
	}
}

func parseAttributes(in der) (map[string][]byte, error) {
	found := make(map[string][]byte)
	list := in.enterOnly(explicit(0))
	for !list.in.Empty() && !*in.bad {
		one := list.enter(tag.SEQUENCE)
		kind := one.oid().String()
		values := one.enterOnly(tag.SET)
		value := values.anyElement()
		values.end()
		if found[kind] != nil {
			return nil, errors.New("a signed attribute is there twice")
		}
		found[kind] = value
	}
	if *in.bad {
		return nil, errToken
	}
	return found, nil
}

var hashes = map[string]crypto.Hash{ //nolint:gochecknoglobals // a constant
	"2.16.840.1.101.3.4.2.1": crypto.SHA256, "2.16.840.1.101.3.4.2.2": crypto.SHA384, "2.16.840.1.101.3.4.2.3": crypto.SHA512,
}

func hashOf(algorithm der) (crypto.Hash, error) {
	oid := algorithm.oid()
	algorithm.noParameters()
	h, ok := hashes[oid.String()]
	switch {
	case *algorithm.bad:
		return 0, errToken
	case !ok:
		return 0, fmt.Errorf("the token uses the hash %s: only SHA-256, SHA-384 and SHA-512 are accepted", oid)
	}
	return h, nil
}
