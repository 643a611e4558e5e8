package timestamp

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"

	"golang.org/x/crypto/cryptobyte"
	tag "golang.org/x/crypto/cryptobyte/asn1"
)

const nonceBits = 64

// A Request is a request for a token.
type Request struct {
	imprint [sha256.Size]byte
	nonce   *big.Int
}

// NewRequest returns a request for a token with the SHA-256 of data.
func NewRequest(data []byte) (Request, error) {
	nonce, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), nonceBits))
	return Request{sha256.Sum256(data), nonce}, err
}

// Encode returns the request in DER. It asks for the TSA's certificates, so that the token verifies
// on its own.
func (r Request) Encode() ([]byte, error) {
	var b cryptobyte.Builder
	b.AddASN1(tag.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1Int64(1)
		b.AddASN1(tag.SEQUENCE, func(b *cryptobyte.Builder) {
			b.AddASN1(tag.SEQUENCE, func(b *cryptobyte.Builder) {
				b.AddASN1ObjectIdentifier(oidSHA256)
				b.AddASN1NULL()
			})
			b.AddASN1OctetString(r.imprint[:])
		})
		b.AddASN1BigInt(r.nonce)
		b.AddASN1Boolean(true)
	})
	return b.Bytes()
}

// ErrRefused means that the TSA refused to give a token.
var ErrRefused = errors.New("the time stamp authority refuses")

// Open returns the token in a TSA's answer, which must fit the request. [Token.Verify] also checks
// the signer's certificate.
func (r Request) Open(answer []byte) (der []byte, t *Token, err error) {
	if der, err = openAnswer(answer); err != nil {
		return nil, nil, err
	}
	if t, err = Parse(der); err != nil {
		return nil, nil, err
	}
	switch {
	case t.nonce == nil || t.nonce.Cmp(r.nonce) != 0:
		return nil, nil, errors.New("the token has another nonce than the request")
	case t.hash.Size() != len(r.imprint) || string(t.imprint) != string(r.imprint[:]):
		return nil, nil, errors.New("the token is about other data than the request")
	}
	if _, err := t.CheckSignature(); err != nil {
		return nil, nil, err
	}
	return der, t, nil
}

// Errors go to the log, so they must not contain text from the time stamp authority.
func openAnswer(answer []byte) ([]byte, error) {
	outer := newDER(answer)
	in := outer.enterOnly(tag.SEQUENCE)
	status := in.enter(tag.SEQUENCE)
	code := status.count(tag.INTEGER)
	if *outer.bad {
		return nil, errors.New("the answer is not one of a time stamp authority")
	}
	if code != 0 && code != 1 { // granted, and granted with modifications
		return nil, fmt.Errorf("%w: status %d%s", ErrRefused, code, failure(status))
	}
	token := in.element(tag.SEQUENCE)
	if in.end(); *outer.bad {
		return nil, errors.New("the answer grants a time stamp and has none")
	}
	return token, nil
}

// failures are the bits of PKIFailureInfo.
var failures = map[int]string{ //nolint:gochecknoglobals // a constant
	0: "algorithm not accepted", 2: "bad request", 5: "bad data format", 14: "time not available", 15: "policy not accepted",
	16: "extension not accepted", 17: "additional information not available", 25: "system failure",
}

func failure(status der) (text string) {
	status.skipOptional(tag.SEQUENCE)
	info := status.bytes(tag.BIT_STRING)
	if *status.bad {
		return ""
	}
	for bit, name := range failures {
		if at := 1 + bit/8; at < len(info) && info[at]&(0x80>>(bit%8)) != 0 {
			text = ", " + name
		}
	}
	return text
}
