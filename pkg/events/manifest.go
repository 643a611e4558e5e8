package events

import (
	"crypto/sha256"
	"encoding/hex"
)

// Manifest lists the events of one producer in a batch. It follows these events
// on the producer's own subject for manifests and is a record of the ledger. It
// proves that no event of the range is missing. A manifest that changes the key may have
// an empty range, with Last before First.
type Manifest struct {
	Version  int     `json:"v"` // 2, or 1 without Key and Sig
	Tenant   string  `json:"tenant"`
	Producer string  `json:"producer"`
	First    uint64  `json:"first"`
	Last     uint64  `json:"last"`
	Count    uint64  `json:"count"`             // events sent, Last-First+1 less the missing ones
	Missing  []Range `json:"missing,omitempty"` // sequences that were never sent
	Prev     string  `json:"prev,omitempty"`    // SHA-256 of the previous manifest's bytes in hex, empty in the first
	Root     string  `json:"root"`              // [BatchRoot] of the events in hex
	Key      string  `json:"key,omitempty"`     // public key of the producer, an nkey of a user
	Next     string  `json:"next,omitempty"`    // the key that signs the next manifests, if it changes
	Grant    *Grant  `json:"grant,omitempty"`   // enrolment of Key
	Sig      string  `json:"sig,omitempty"`     // Ed25519 signature of [Manifest.SignedText] in base64
}

// Range is an inclusive range of sequences.
type Range struct {
	First  uint64 `json:"first"`
	Last   uint64 `json:"last"`
	Reason string `json:"reason,omitempty"`
}

// Hash is the SHA-256 of an event's or manifest's bytes.
type Hash [sha256.Size]byte

// HashOf returns the hash of encoded bytes.
func HashOf(data []byte) Hash { return sha256.Sum256(data) }

// String returns h in lower-case hex.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }
