package events

import (
	"crypto/sha256"
	"encoding/hex"
)

// Manifest lists the events in one batch of a producer, so that a missing event is noticed. In a
// manifest without events, Last is smaller than First.
type Manifest struct {
	Version  int     `json:"v"` // 2, or 1 without Key and Sig
	Tenant   string  `json:"tenant"`
	Producer string  `json:"producer"`
	First    uint64  `json:"first"`
	Last     uint64  `json:"last"`
	Count    uint64  `json:"count"`             // sent events, without the missing ones
	Missing  []Range `json:"missing,omitempty"` // sequences that will never be sent
	Prev     string  `json:"prev,omitempty"`    // SHA-256 of the previous manifest's bytes in hex, empty in the first manifest
	Root     string  `json:"root"`              // [BatchRoot] of the events in hex

	// State says whether another manifest follows, and Interval says within how many seconds. Beat
	// counts the heartbeats since the event Last.
	State    State  `json:"state,omitempty"`
	Interval uint64 `json:"interval,omitempty"`
	Beat     uint64 `json:"beat,omitempty"`

	Key   string `json:"key,omitempty"`   // public key of the producer, a user nkey
	Next  string `json:"next,omitempty"`  // key that signs the next manifests, if the key changes
	Grant *Grant `json:"grant,omitempty"` // enrolment of Key
	Sig   string `json:"sig,omitempty"`   // Ed25519 signature of [Manifest.SignedText] in base64
}

// State says in a manifest whether the producer is open or closed. A closed producer sends no
// manifests for the tenant until it opens again.
type State string

// Possible values of [State]. StateClosed means that manifests list every number used so far. A
// closed producer can open again.
const (
	StateOpen   State = "open"
	StateClosed State = "closed"
)

// MaxInterval is the longest [Manifest.Interval] in seconds.
const MaxInterval = 366 * 24 * 60 * 60

// Range is a range of sequence numbers, including First and Last.
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
