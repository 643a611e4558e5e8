package beads

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Status is the status of an issue.
type Status string

// The statuses of issues that the tracker uses.
const (
	Open       Status = "open"
	InProgress Status = "in_progress"
	Blocked    Status = "blocked"
	Closed     Status = "closed"
)

// TypeTask is the type of the tracker's issues.
const TypeTask = "task"

// MaxTitle is the maximum length of a title in bytes. Beads says "characters" but means bytes.
const MaxTitle = 500

// Issue is a line of issues.jsonl, with fields in the order of Beads:
//
//	{"id":"ht-…","title":"GWI: RESOLVE run r1","status":"open","priority":1,"issue_type":"task",…}
type Issue struct {
	ID           string       `json:"id"`
	Title        string       `json:"title"`
	Description  string       `json:"description,omitempty"`
	Notes        string       `json:"notes,omitempty"`
	Status       Status       `json:"status"`
	Priority     int          `json:"priority"` // 0 (most urgent) to 4
	Type         string       `json:"issue_type"`
	Assignee     string       `json:"assignee,omitempty"`
	Owner        string       `json:"owner,omitempty"`
	CreatedAt    time.Time    `json:"created_at"`
	CreatedBy    string       `json:"created_by,omitempty"`
	UpdatedAt    time.Time    `json:"updated_at"`
	ClosedAt     time.Time    `json:"closed_at,omitzero"`
	CloseReason  string       `json:"close_reason,omitempty"`
	Labels       []string     `json:"labels,omitempty"`
	Dependencies []Dependency `json:"dependencies,omitempty"`
	Comments     []Comment    `json:"comments,omitempty"`
	Extra        Extra        `json:"-"`
}

// A Dependency says that the issue with the id Issue depends on the issue with the id DependsOn.
type Dependency struct {
	Issue     string    `json:"issue_id"`
	DependsOn string    `json:"depends_on_id"`
	Type      string    `json:"type"` // discovered-from, blocks, …
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by,omitempty"`
	Extra     Extra     `json:"-"`
}

// Comment is a remark on an issue.
type Comment struct {
	ID        json.RawMessage `json:"id,omitempty"` // number, or string since Beads 1.0
	Issue     string          `json:"issue_id"`
	Author    string          `json:"author"`
	Text      string          `json:"text"`
	CreatedAt time.Time       `json:"created_at"`
	Extra     Extra           `json:"-"`
}

// Extra contains the fields of a record that this package does not know. They are written back
// unchanged.
type Extra map[string]json.RawMessage

// Validate returns an error if Beads would reject the issue. The error wraps ErrInvalid and names
// the field.
func (i Issue) Validate() error {
	switch {
	case i.ID == "":
		return fmt.Errorf("issue without id: %w", ErrInvalid)
	case i.Title == "" || len(i.Title) > MaxTitle:
		return fmt.Errorf("issue %s: title has %d bytes, 1 to %d are allowed: %w", i.ID, len(i.Title), MaxTitle, ErrInvalid)
	case i.Priority < 0 || i.Priority > 4:
		return fmt.Errorf("issue %s: priority is %d, 0 to 4 are allowed: %w", i.ID, i.Priority, ErrInvalid)
	case i.Type == "":
		return fmt.Errorf("issue %s: type is missing: %w", i.ID, ErrInvalid)
	case i.Status == Closed && i.ClosedAt.IsZero():
		return fmt.Errorf("issue %s: closed without closed_at: %w", i.ID, ErrInvalid)
	case i.Status != Closed && !i.ClosedAt.IsZero():
		return fmt.Errorf("issue %s: %s with closed_at: %w", i.ID, i.Status, ErrInvalid)
	}
	return i.Status.validate(i.ID)
}

func (s Status) validate(id string) error {
	if slices.Contains([]Status{Open, InProgress, Blocked, Closed}, s) {
		return nil
	}
	return fmt.Errorf("issue %s: unknown status %q: %w", id, s, ErrInvalid)
}
