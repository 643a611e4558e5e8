// Package hooksocket sends hook payloads to a publisher over a socket. It imports few packages, so
// that hooktrail-hook starts fast. An agent starts this program for each call.
package hooksocket

import (
	"strconv"
	"time"
)

const (
	// DefaultTimeout is how long an agent waits for a decision by default.
	DefaultTimeout = 5 * time.Second
	// Grace is how long a client waits for the response after the timeout of a decision has passed.
	Grace = 2 * time.Second
	// QuickResponse limits the wait for the response to a request that needs no decision.
	QuickResponse = 250 * time.Millisecond
	// MaxPayload is the size limit of a hook payload in bytes.
	MaxPayload = 16 << 20
)

// UnansweredFlag makes the hook command run without waiting for the publisher. hooktrail-hook
// passes the flag to the program that it starts next, if the publisher began to answer and did not
// finish in time.
const UnansweredFlag = "unanswered"

// HTTP headers of a request with a hook payload and of the response.
const (
	ExitHeader   = "Hooktrail-Exit"   // exit status of the hook command
	StderrHeader = "Hooktrail-Stderr" // stderr of the hook command, with URL escapes
	IDKeyHeader  = "Hooktrail-Id-Key" // sender's id key in hexadecimal, for the same event ids at the publisher
	// ProgressHeader asks the publisher for status 102 as soon as it has the payload. The client
	// can then distinguish a slow hook from a server that hangs.
	ProgressHeader = "Hooktrail-Progress"
	// ReadableHeader makes the publisher refuse a payload that it cannot read. Without this header,
	// the publisher records such a payload.
	ReadableHeader = "Hooktrail-Readable"
	// BeginHeader contains a Unix time in milliseconds. After that time, the publisher must refuse
	// the payload, because the sender then records it itself.
	BeginHeader = "Hooktrail-Begin"
	// BusyHeader marks a response of a publisher that is too busy for the request. The header
	// Retry-After says when to repeat the request.
	BusyHeader = "Hooktrail-Busy"
)

// BeginWithin returns the value of BeginHeader for a sender that waits for the given time. The
// value is the time when four fifths of the wait have passed, so that the response can still
// arrive.
func BeginWithin(wait time.Duration) string {
	return strconv.FormatInt(time.Now().Add(wait/5*4).UnixMilli(), 10)
}

// IsLate reports whether the time in BeginHeader has passed. It returns false for an empty value.
func IsLate(header string) bool {
	until, err := strconv.ParseInt(header, 10, 64)
	return err == nil && time.Now().UnixMilli() > until
}

// maxPause limits the time in the header Retry-After that a client accepts.
const maxPause = 10 * time.Second

// IsBusy reports whether the publisher was too busy for a request. pause is the time to wait before
// the request is repeated.
func IsBusy(h Header) (pause time.Duration, busy bool) {
	if h.Get(BusyHeader) == "" {
		return 0, false
	}
	seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 16)
	if err != nil || seconds == 0 {
		return time.Second, true
	}
	return min(time.Duration(seconds)*time.Second, maxPause), true
}
