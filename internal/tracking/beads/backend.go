package beads

import (
	"context"
	"errors"
	"fmt"
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
	Changer
	Reader
	Watcher
}

// Changer does all that can be done to issues.
type Changer interface {
	Writer
	Marker
	Eraser
}

// Marker says more about an issue than its status does. Each method may be
// repeated.
type Marker interface {
	// Label adds a label to an issue.
	Label(ctx context.Context, issue, label string, at time.Time) error
	// Describe makes text the description of an issue, unless a person changed
	// that since the issue was made: then it stays as it is.
	Describe(ctx context.Context, issue, text string, at time.Time) error
}

// Watcher tells what people did to the issues.
type Watcher interface {
	// Edits returns what people changed in the workspace and nobody has taken
	// yet, in the order found. What it returns is kept until then, over
	// restarts too. It may return an error along with the edits that it found:
	// a [*FileError] says which line of a file nobody can read.
	Edits(ctx context.Context) ([]Edit, error)
	// Acknowledge says that edits are where they will not be lost: they are not
	// returned again.
	Acknowledge(ctx context.Context, edits []Edit) error
}

// Action is what a person did to an issue, as issue.edited has it.
type Action string

// The actions.
const (
	ActionClosed     Action = "closed"
	ActionNotPlanned Action = "not_planned" // closed for a reason that says so
	ActionReopened   Action = "reopened"
	ActionAssigned   Action = "assigned" // to Value, to nobody if that is empty
	ActionRetitled   Action = "retitled" // as Value
)

// Edit is what a person changed in a workspace.
type Edit struct {
	ID     string    `json:"id"` // the same for the same edit, however often it is found
	Issue  string    `json:"issue"`
	Action Action    `json:"action"`
	By     string    `json:"by,omitempty"` // empty if the workspace does not say
	At     time.Time `json:"at"`           // by the workspace, or when its file was changed
	Value  string    `json:"value,omitempty"`
}

// FileError is a place in a file of issues that cannot be read. It wraps
// ErrInvalid. Its text has nothing of the file's.
type FileError struct {
	Path         string
	Line, Column int    // from 1; the column counts bytes
	Problem      string // what is wrong there
}

// Error implements error: path:line:column: problem.
func (e *FileError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Line, e.Column, e.Problem)
}

// Unwrap returns ErrInvalid.
func (e *FileError) Unwrap() error { return ErrInvalid }

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
