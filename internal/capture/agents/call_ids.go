package agents

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// Pairs gives calls that have no id one that their result has too: the first
// call of a key waits for the first result of that key. It does not matter
// which of them comes first, nor how often each comes. All methods may be called
// concurrently, and none fails: what cannot be kept counts as the first call of
// its key.
type Pairs interface {
	// Call returns the id of the call that a payload announces. Payloads of one
	// session with the same mark are the same payload; one without a mark is none
	// that came before.
	Call(k Key, mark string) string
	// Result returns the id of the call that a payload has the result of.
	Result(k Key, mark string) string
	// Denied tells that a call waits for no result.
	Denied(k Key, id string)
	// IsDenied tells whether a call of the key is denied.
	IsDenied(k Key) bool
}

// Key is what a call and its result have in common.
type Key struct {
	Session string // with the tenant and the tool
	Call    string // the name of the called tool and the arguments
}

// hash returns what a key is kept under.
func (k Key) hash() [sha256.Size]byte {
	return sha256.Sum256([]byte(k.Session + "\x00" + k.Call))
}

// callID returns the id of the nth call of a key, from 0.
func callID(k Key, n int) string {
	sum := sha256.Sum256([]byte(k.Session + "\x00" + k.Call + "\x00" + strconv.Itoa(n)))
	return "call-" + hex.EncodeToString(sum[:12])
}

// firstCall returns the id of a call that nobody pairs.
func firstCall(k Key) string { return callID(k, 0) }

// calls are the calls of one key, in the order in which they came.
type calls []slot

// slot is a call, or a result whose call has not come yet.
type slot struct {
	Call   string `json:"c,omitempty"` // the mark of its payload
	Result string `json:"r,omitempty"`
	Has    uint8  `json:"h"` // which of the two have come
	Denied bool   `json:"d,omitempty"`
}

const (
	hasCall uint8 = 1 << iota
	hasResult
)

// call returns which call a payload announces.
func (c *calls) call(mark string) int {
	for i, s := range *c {
		if mark != "" && s.Has&hasCall != 0 && s.Call == mark {
			return i
		}
	}
	for i, s := range *c {
		if s.Has&hasCall == 0 {
			(*c)[i].Call, (*c)[i].Has = mark, s.Has|hasCall
			return i
		}
	}
	*c = append(*c, slot{Call: mark, Has: hasCall})
	return len(*c) - 1
}

// result returns which call a payload has the result of.
func (c *calls) result(mark string) int {
	for i, s := range *c {
		if mark != "" && s.Has&hasResult != 0 && s.Result == mark {
			return i
		}
	}
	for i, s := range *c {
		if s.Has&hasResult == 0 && !s.Denied {
			(*c)[i].Result, (*c)[i].Has = mark, s.Has|hasResult
			return i
		}
	}
	*c = append(*c, slot{Result: mark, Has: hasResult})
	return len(*c) - 1
}

// denied notes that a call is denied. One whose id comes from the tool is noted
// although it never was announced here.
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
