package tracker

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/hooktrail/hooktrail/internal/platform/osuser"
	"github.com/hooktrail/hooktrail/internal/tracking/beads"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
	"github.com/hooktrail/hooktrail/pkg/redact"
)

const editsName = "edits"

const editSource = "/tracker/edits"

// EditOutbox returns the path of the outbox in which commands store people's edits of issues.
func EditOutbox(dataDir string) string { return filepath.Join(dataDir, "outbox", editsName) }

var editRedactor = sync.OnceValues(func() (*redact.Redactor, error) { return redact.New(redact.Options{}) })

// setEdit does not redact the name of an assignee, because the edit is about that name.
func setEdit(e *events.Event, d events.IssueEditedData) error {
	if d.Action != string(beads.ActionAssigned) && d.Value != "" {
		r, err := editRedactor()
		if err != nil {
			return err
		}
		draft := *e
		if err := draft.SetData(events.IssueEditedData{Value: d.Value}); err != nil {
			return err
		}
		if err := r.Redact(&draft); err != nil {
			return err
		}
		redacted, err := events.Payload[events.IssueEditedData](draft)
		if err != nil {
			return err
		}
		d.Value, d.Redacted = redacted.Value, redacted.Redacted
	}
	return e.SetData(d)
}

// RecordEdit stores a person's edit of an issue as an event. It redacts secrets and personal data.
//
// When RecordEdit returns, the event is in an outbox on disk. If no tracker is running, the next
// one applies the edit. RecordEdit is safe for concurrent use by several processes.
func RecordEdit(ctx context.Context, dataDir, tenant string, d events.IssueEditedData) (events.Event, error) {
	d.User = osuser.Current()
	e, err := events.New(events.IssueEdited, editSource, d)
	if err == nil {
		err = setEdit(&e, d)
	}
	if err != nil {
		return e, fmt.Errorf("record edit: %w", err)
	}
	e.Tenant = tenant
	stored, err := publish.AppendShared(ctx, EditOutbox(dataDir), publish.SharedOptions{
		Name: editsName, Redactor: publish.NoRedaction, // setEdit has redacted it
		Durability: publish.DiskDurability, Full: publish.Fail, Journal: publish.JournalDir(dataDir),
	}, e)
	if err != nil {
		return e, fmt.Errorf("record edit: %w", err)
	}
	return stored[0], nil
}
