package beads

import (
	"context"
	"errors"
	"time"
)

// The fates of a call. Every error of a [Backend] wraps one of them.
var (
	// ErrTransient is a failure that a later try may not meet.
	ErrTransient = errors.New("backend failed for now")
	// ErrUnavailable is a backend that takes nothing: wait until it is back.
	ErrUnavailable = errors.New("backend is unavailable")
	// ErrInvalid is a request that no try will ever make acceptable.
	ErrInvalid = errors.New("backend refuses the request")
	// ErrConflict is a request that the issue as it is now does not allow.
	ErrConflict = errors.New("issue is in another state")
	// ErrNotFound is an issue that does not exist.
	ErrNotFound = errors.New("no such issue")
)

// Backend is one tenant's workspace. Its methods may be called concurrently,
// but changes of one issue in their order.
type Backend interface {
	Writer
	Reader
	Eraser
}

// Eraser takes texts out of a workspace for good.
type Eraser interface {
	// Erase puts text in the place of the title, the description, the reason of
	// closing and the comments of an issue. What was there is nowhere in the
	// workspace's files after the next export. An issue that does not exist is
	// left alone.
	Erase(ctx context.Context, issue, text string) error
}

// Writer changes a workspace. Each method may be repeated.
type Writer interface {
	// Ensure makes issue if there is none with its id, and never touches one
	// that exists.
	Ensure(ctx context.Context, issue Issue) error
	// Transition changes an issue's status. A closed issue stays closed unless
	// t.Reopen says otherwise: that is a conflict.
	Transition(ctx context.Context, t Transition) error
	// Link adds a dependency to the issue d.Issue.
	Link(ctx context.Context, d Dependency) error
	// Note adds a comment to the issue c.Issue. Its ID is the workspace's.
	Note(ctx context.Context, c Comment) error
}

// Reader looks into a workspace.
type Reader interface {
	// Get returns the issue with this id, or an error that wraps ErrNotFound.
	Get(ctx context.Context, id string) (Issue, error)
	// Probe returns nil if the workspace can be written to.
	Probe(ctx context.Context) error
}

// Transition moves an issue to another status.
type Transition struct {
	Issue  string
	To     Status
	At     time.Time
	Reason string // of closing
	Reopen bool   // a closed issue may be opened again
}
