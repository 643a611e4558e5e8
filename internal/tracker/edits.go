package tracker

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// editsName is that of the outbox of people's edits.
const editsName = "edits"

// editSource is the source of the events that say what people did to issues.
const editSource = "/tracker/edits"

// EditOutbox returns the outbox below a data directory in which people's edits
// wait to be sent by a tracker.
func EditOutbox(dataDir string) string { return filepath.Join(dataDir, "outbox", editsName) }

// RecordEdit takes in what a person did to an issue of tenant, and returns the
// event as it was stored.
//
// When it returns nil the event is on disk, in an outbox below dataDir. It needs
// neither a broker nor a running tracker: who serves or drains next sends it, and
// takes it in when it comes by in the stream. Any number of processes may call it
// at once.
func RecordEdit(ctx context.Context, dataDir, tenant string, d events.IssueEditedData) (events.Event, error) {
	e, err := events.New(events.IssueEdited, editSource, d)
	if err != nil {
		return e, fmt.Errorf("record edit: %w", err)
	}
	e.Tenant = tenant
	stored, err := publish.AppendShared(ctx, EditOutbox(dataDir), publish.SharedOptions{
		Name: editsName, Redactor: publish.NoRedaction, // ids and names, and what is said on purpose
		Durability: publish.DiskDurability, Full: publish.Fail,
	}, e)
	if err != nil {
		return e, fmt.Errorf("record edit: %w", err)
	}
	return stored[0], nil
}
