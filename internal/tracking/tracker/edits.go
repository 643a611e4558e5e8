package tracker

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/hooktrail/hooktrail/internal/tracking/beads"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
	"github.com/hooktrail/hooktrail/pkg/redact"
)

// editsName is that of the outbox of people's edits.
const editsName = "edits"

// editSource is the source of the events that say what people did to issues.
const editSource = "/tracker/edits"

// EditOutbox returns the outbox below a data directory in which people's edits
// wait to be sent by a tracker.
func EditOutbox(dataDir string) string { return filepath.Join(dataDir, "outbox", editsName) }

var editRedactor = sync.OnceValues(func() (*redact.Redactor, error) { return redact.New(redact.Options{}) })

// setEdit gives e the data d without the secrets and the personal data in what
// the person wrote. Who did it, or is to do it, is named on purpose.
func setEdit(e *events.Event, d events.IssueEditedData) error {
	if d.Action != string(beads.ActionAssigned) && d.Value != "" {
		r, err := editRedactor()
		if err != nil {
			return err
		}
		said := *e
		if err := said.SetData(events.IssueEditedData{Value: d.Value}); err != nil {
			return err
		}
		if err := r.Redact(&said); err != nil {
			return err
		}
		kept, err := events.Payload[events.IssueEditedData](said)
		if err != nil {
			return err
		}
		d.Value, d.Redacted = kept.Value, kept.Redacted
	}
	return e.SetData(d)
}

// RecordEdit takes in what a person did to an issue of tenant, and returns the
// event as it was stored: secrets and personal data in what was written are not.
//
// When it returns nil the event is on disk, in an outbox below dataDir. It needs
// neither a broker nor a running tracker: who serves or drains next sends it, and
// takes it in when it comes by in the stream. Any number of processes may call it
// at once.
func RecordEdit(ctx context.Context, dataDir, tenant string, d events.IssueEditedData) (events.Event, error) {
	e, err := events.New(events.IssueEdited, editSource, d)
	if err == nil {
		err = setEdit(&e, d)
	}
	if err != nil {
		return e, fmt.Errorf("record edit: %w", err)
	}
	e.Tenant = tenant
	stored, err := publish.AppendShared(ctx, EditOutbox(dataDir), publish.SharedOptions{
		Name: editsName, Redactor: publish.NoRedaction, // it is redacted
		Durability: publish.DiskDurability, Full: publish.Fail,
	}, e)
	if err != nil {
		return e, fmt.Errorf("record edit: %w", err)
	}
	return stored[0], nil
}
