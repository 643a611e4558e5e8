package events

import (
	"crypto/sha256"
	"encoding/hex"
)

// Manifest lists the events of one producer in a batch. It is published on the chain
// subject of the producer after these events and is a record of the ledger. It proves
// that no event of the range is missing.
type Manifest struct {
	Version  int     `json:"v"` // 1
	Tenant   string  `json:"tenant"`
	Producer string  `json:"producer"`
	First    uint64  `json:"first"`             // first sequence of the range
	Last     uint64  `json:"last"`              // last sequence of the range
	Count    uint64  `json:"count"`             // events sent; Last-First+1 less the missing ones
	Missing  []Range `json:"missing,omitempty"` // sequences that were assigned but never sent
	Prev     string  `json:"prev,omitempty"`    // SHA-256 of the previous manifest's bytes, hex; empty in the first
	Root     string  `json:"root"`              // [BatchRoot] of the events sent, hex
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
