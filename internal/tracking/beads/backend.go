package beads

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Every error of a [Backend] wraps one of the following errors.
var (
	// ErrTransient means that the request failed, but can succeed later.
	ErrTransient = errors.New("backend failed for now")
	// ErrUnavailable means that the backend currently accepts no changes to any issue.
	ErrUnavailable = errors.New("backend is unavailable")
	// ErrInvalid means that the request can never succeed.
	ErrInvalid = errors.New("backend refuses the request")
	// ErrConflict means that the current status of the issue does not allow the request.
	ErrConflict = errors.New("issue is in another state")
	// ErrNotFound means that the issue does not exist.
	ErrNotFound = errors.New("no such issue")
)

// A Backend changes the issues of one tenant. It is safe for concurrent use, except that changes to
// one issue must come in time order.
type Backend interface {
	Writer
	Annotator
	Reader
	EditSource
}

// Annotator changes the texts and labels of an issue. All methods can be repeated without further
// effect.
type Annotator interface {
	// Label adds a label to an issue.
	Label(ctx context.Context, issue, label string, at time.Time) error
	// Describe sets the description of an issue, unless a person has changed it.
	Describe(ctx context.Context, issue, text string, at time.Time) error
	// Erase replaces all texts of an issue by the given text, or deletes them. After the next
	// export, no file of the workspace contains the old texts. It ignores unknown issues.
	Erase(ctx context.Context, issue, text string) error
}

// EditSource returns the changes that people made to issues with Beads, outside of the tracker.
type EditSource interface {
	// Edits returns the edits by people that are not acknowledged yet, oldest first. They survive
	// restarts. A [*FileError] means that a line is unreadable, but the returned edits are valid.
	Edits(ctx context.Context) ([]Edit, error)
	// Acknowledge removes the given edits, which the caller must have stored before.
	Acknowledge(ctx context.Context, edits []Edit) error
}

// Action says what a person changed in an issue.
type Action string

// Actions of edits.
const (
	ActionClosed     Action = "closed"
	ActionNotPlanned Action = "not_planned" // closed with a reason or label like "wontfix"
	ActionReopened   Action = "reopened"
	ActionAssigned   Action = "assigned" // Value is the assignee. An empty Value means unassigned
	ActionRetitled   Action = "retitled" // Value is the new title
)

// Edit is a change that a person made to an issue in Beads.
type Edit struct {
	ID     string    `json:"id"` // the same each time the edit is found
	Issue  string    `json:"issue"`
	Action Action    `json:"action"`
	By     string    `json:"by,omitempty"` // empty if unknown
	At     time.Time `json:"at"`           // time of the change. If unknown, time of the file
	Value  string    `json:"value,omitempty"`
}

// FileError describes an unreadable line of an issues file, without quoting it. It wraps
// ErrInvalid.
type FileError struct {
	Path         string
	Line, Column int // from 1. The column counts bytes
	Problem      string
}

// Error returns path:line:column: problem.
func (e *FileError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Line, e.Column, e.Problem)
}

// Unwrap returns ErrInvalid.
func (e *FileError) Unwrap() error { return ErrInvalid }

// Writer creates and changes issues. All methods can be repeated without further effect.
type Writer interface {
	// Ensure creates an issue if it does not exist. It never changes an existing one.
	Ensure(ctx context.Context, issue Issue) error
	// Transition changes the status of an issue. It returns ErrConflict if the issue is closed and
	// the transition must not reopen it.
	Transition(ctx context.Context, t Transition) error
	// Link stores that one issue depends on another.
	Link(ctx context.Context, d Dependency) error
	// Note adds a comment to an issue. The workspace assigns the id of the comment.
	Note(ctx context.Context, c Comment) error
}

// Reader reads a workspace.
type Reader interface {
	// Get returns the issue with the given id. If there is none, the error wraps ErrNotFound.
	Get(ctx context.Context, id string) (Issue, error)
	// Probe returns nil if the workspace accepts changes.
	Probe(ctx context.Context) error
}

// Transition is a status change of an issue.
type Transition struct {
	Issue  string
	To     Status
	At     time.Time
	Reason string // close reason, used only if To is Closed
	Reopen bool   // also change a closed issue
}
