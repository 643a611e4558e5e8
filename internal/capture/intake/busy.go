package intake

import (
	"net/http"

	"github.com/hooktrail/hooktrail/internal/capture/hooksocket"
)

const retryAfter = "1" // in seconds

// BusyError means that too many requests are open, or that too many bytes of their bodies are in
// memory.
type BusyError struct {
	Status int // 429 if the sender uses its whole share, otherwise 503
	reason string
}

// Error implements error.
func (e *BusyError) Error() string { return e.reason + "; retry after the time in Retry-After" }

// SetHeader sets the headers that tell a client when to repeat the request.
func (e *BusyError) SetHeader(h http.Header) {
	h.Set("Retry-After", retryAfter)
	h.Set(hooksocket.BusyHeader, "1")
}

func busy(status int, reason string) *BusyError { return &BusyError{Status: status, reason: reason} }
