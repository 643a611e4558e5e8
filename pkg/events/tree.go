package events

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"math/bits"
)

// BatchRoot returns the RFC 6962 Merkle root of a batch, with a leaf per event.
func BatchRoot(hashes []Hash) Hash {
	if len(hashes) == 0 {
		return sha256.Sum256(nil)
	}
	// stack contains the roots of complete subtrees, the largest first.
	stack := make([]Hash, 0, bits.Len(uint(len(hashes)))+1)
	for i, h := range hashes {
		stack = append(stack, leafHash(h))
		for n := i + 1; n&1 == 0; n >>= 1 {
			stack = mergeTop(stack)
		}
	}
	for len(stack) > 1 {
		stack = mergeTop(stack)
	}
	return stack[0]
}

func mergeTop(stack []Hash) []Hash {
	top := len(stack) - 1
	stack[top-1] = nodeHash(stack[top-1], stack[top])
	return stack[:top]
}

func leafHash(h Hash) Hash {
	var b [1 + len(h)]byte
	copy(b[1:], h[:])
	return sha256.Sum256(b[:])
}

func nodeHash(left, right Hash) Hash {
	var b [1 + 2*len(left)]byte
	b[0] = 1
	copy(b[1:], left[:])
	copy(b[1+len(left):], right[:])
	return sha256.Sum256(b[:])
}

var errHash = errors.New("not 64 lower-case hex digits")

// ParseHash parses the result of [Hash.String].
func ParseHash(s string) (Hash, error) {
	var h Hash
	if len(s) != hex.EncodedLen(len(h)) {
		return Hash{}, errHash
	}
	for i := range len(s) {
		if !isDigit(s[i]) && (s[i] < 'a' || s[i] > 'f') {
			return Hash{}, errHash
		}
	}
	if _, err := hex.Decode(h[:], []byte(s)); err != nil {
		return Hash{}, errHash
	}
	return h, nil
}

// NewSalt returns 128 random bits in base64url. Without a salt, an attacker could guess an erased
// event from its hash.
func NewSalt() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}
