package transport

import (
	"context"
	"errors"
	"time"
)

var (
	// ErrConnectionClosed means that the owner of the connection has closed it.
	ErrConnectionClosed = errors.New("connection to the server was closed")
	// ErrBusy means that the server dropped a message, so the batch is not stored. A smaller batch
	// may succeed.
	ErrBusy = errors.New("the server drops messages, because too many wait for the stream")
	// ErrPermission means that the user lacks a permission of the server.
	ErrPermission = errors.New("the server's permissions do not allow it")
	// ErrNoStream means that the server has no stream for events.
	ErrNoStream = errors.New("the server has no stream for events; hooktrail up creates it, also with --nats-url")
)

// Message is one message of a batch.
type Message struct {
	Subject  string
	Data     []byte
	IsFenced bool   // store the batch only if Fence is the last sequence on the subject
	Fence    uint64 // 0 if the subject must be empty
}

// Outcome classifies the result of a batch.
type Outcome int

// The outcomes.
const (
	OutcomeStored      Outcome = iota
	OutcomeRetry               // not stored, for a reason outside of the batch
	OutcomeUnknown             // possibly stored, because the answer is missing
	OutcomeConflict            // not stored, because the fence failed
	OutcomeRefused             // not stored, but the server may accept parts of the batch
	OutcomeUnexplained         // not stored, for an unknown reason
	OutcomeTooLarge            // not stored, but the server accepts smaller batches
)

// Server is a connection to a server with streams.
type Server interface {
	// Link tracks the connection until Close.
	Link() Link
	// Sender returns a sender that waits at most timeout for each answer. Close it before link.
	Sender(link Link, timeout time.Duration) (Sender, error)
	// LastMessage returns the last message on a subject, or nil, and its stream sequence.
	LastMessage(ctx context.Context, stream, subject string) ([]byte, uint64, error)
}

// Link tracks the state of a connection.
type Link interface {
	// Lost returns a channel that is closed when the current connection is lost.
	Lost() <-chan struct{}
	// IsUp reports whether the connection is up.
	IsUp() bool
	// Wait waits for a connection. It returns [ErrConnectionClosed] if the owner has closed the
	// connection.
	Wait(ctx context.Context) error
	// Close ends the tracking. It does not close the connection.
	Close()
}

// Sender sends atomic batches. Only one goroutine may use it.
type Sender interface {
	// Send stores all messages or none, and returns the stream sequence of the last one. See Outcome
	// for errors.
	Send(ctx context.Context, messages []Message) (uint64, error)
	// Outcome classifies the error of Send.
	Outcome(err error) Outcome
	// Close ends the subscription for answers.
	Close()
}
