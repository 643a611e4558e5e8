package agents

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// CallIDs assigns an id to each tool call without one, and the same id to its
// result. The first call of a key gets the first result of that key. Calls and
// results may arrive in any order, and more than once. The methods may be called
// concurrently and do not fail. If an implementation cannot store a call, the call
// counts as the first of its key.
type CallIDs interface {
	// Call returns the id for the payload that announces a call. Two payloads with
	// the same identity are the same payload. A payload without an identity is
	// always new.
	Call(k Key, identity string) string
	// Result returns the id of the call whose result the payload has.
	Result(k Key, identity string) string
	// Denied records that a call gets no result.
	Denied(k Key, id string)
	// IsDenied reports whether a call of the key is denied.
	IsDenied(k Key) bool
}

// Key is shared by a call and its result.
type Key struct {
	Session string // includes the tenant and the tool
	Call    string // the name of the called tool and the arguments
}

// hash returns the key under which calls are stored.
func (k Key) hash() [sha256.Size]byte {
	return sha256.Sum256([]byte(k.Session + "\x00" + k.Call))
}

// callID returns the id of the nth call of a key, from 0.
func callID(k Key, n int) string {
	sum := sha256.Sum256([]byte(k.Session + "\x00" + k.Call + "\x00" + strconv.Itoa(n)))
	return "call-" + hex.EncodeToString(sum[:12])
}

// firstCall returns the id of a call without CallIDs.
func firstCall(k Key) string { return callID(k, 0) }

// calls are the calls of one key, in the order of arrival.
type calls []slot

// slot is a call, or a result that arrived before its call.
type slot struct {
	Call   string `json:"c,omitempty"` // the identity of the payload
	Result string `json:"r,omitempty"` // the identity of the payload
	Has    uint8  `json:"h"`           // the set of those that have arrived
	Denied bool   `json:"d,omitempty"`
}

const (
	hasCall uint8 = 1 << iota
	hasResult
)

// call returns the index of the call that a payload announces.
func (c *calls) call(identity string) int {
	for i, s := range *c {
		if identity != "" && s.Has&hasCall != 0 && s.Call == identity {
			return i
		}
	}
	for i, s := range *c {
		if s.Has&hasCall == 0 {
			(*c)[i].Call, (*c)[i].Has = identity, s.Has|hasCall
			return i
		}
	}
	*c = append(*c, slot{Call: identity, Has: hasCall})
	return len(*c) - 1
}

// result returns the index of the call whose result a payload has.
func (c *calls) result(identity string) int {
	for i, s := range *c {
		if identity != "" && s.Has&hasResult != 0 && s.Result == identity {
			return i
		}
	}
	for i, s := range *c {
		if s.Has&hasResult == 0 && !s.Denied {
			(*c)[i].Result, (*c)[i].Has = identity, s.Has|hasResult
			return i
		}
	}
	*c = append(*c, slot{Result: identity, Has: hasResult})
	return len(*c) - 1
}

// denied marks a call as denied. It adds a call whose id comes from the tool,
// because Call never saw it.
func (c *calls) denied(k Key, id string) {
	for i := range *c {
		if callID(k, i) == id {
			(*c)[i].Denied = true
			return
		}
	}
	*c = append(*c, slot{Has: hasCall, Denied: true})
}

func (c *calls) isDenied() bool {
	for _, s := range *c {
		if s.Denied {
			return true
		}
	}
	return false
}
