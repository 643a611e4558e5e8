package access

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/osuser"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// Producer is the producer name in access records. The outbox for access records has the same
// name.
const Producer = "auditor"

const source = "/auditor"

// Outbox returns the path of the outbox for access records in a data directory.
func Outbox(dataDir string) string { return filepath.Join(dataDir, "outbox", Producer) }

// Record records a use of a tenant's evidence and returns the stored event. If it fails, do not use
// the evidence.
//
// The event is on disk when Record returns. Several processes may call it at the same time.
func Record(ctx context.Context, dataDir, tenant string, d events.AuditAccessedData) (events.Event, error) {
	d.User = osuser.Current()
	e, err := events.New(events.AuditAccessed, source, d)
	if err != nil {
		return e, fmt.Errorf("record access: %w", err)
	}
	e.Tenant = tenant
	stored, err := publish.AppendShared(ctx, Outbox(dataDir), publish.SharedOptions{
		// Redaction would break the signature of an order, or hide the text of a search.
		Name: Producer, Redactor: publish.NoRedaction,
		Durability: publish.DiskDurability, Full: publish.Fail, Journal: publish.JournalDir(dataDir),
	}, e)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return e, fmt.Errorf("record access: %w: nothing was done, because evidence is only used after its use is on record: "+
			"run the command as a user who may write to %s", err, dataDir)
	}
	if err != nil {
		return e, fmt.Errorf("record access: %w (nothing was done: evidence is only used after its use is on record)", err)
	}
	return stored[0], nil
}

// Unsent returns how many access records of a tenant are in the outbox and not yet in the stream.
func Unsent(dataDir, tenant string) (uint64, error) {
	state, err := publish.Inspect(Outbox(dataDir))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	return state.Tenants[tenant], err
}

// SelectionOf converts the selection of a ledger query to the form in access records.
func SelectionOf(s ledger.Selection) events.AuditSelection {
	return events.AuditSelection{Run: s.Run, From: timePointer(s.From), To: timePointer(s.To)}
}

// OrderRecord returns the payload of the audit.accessed event that records an order. signed is the
// signed text of the order.
func OrderRecord(o ledger.Order, signed string) events.AuditAccessedData {
	d := events.AuditAccessedData{Action: o.Action, By: o.By, Reason: o.Reason, Ticket: o.Ticket, Order: signed}
	s := events.AuditSelection{
		Run: o.Selection.Run, Event: o.Selection.Event, User: o.Selection.User, Kind: o.Selection.Kind, Hold: o.Hold,
		From: timePointer(o.Selection.From), To: timePointer(o.Selection.To),
	}
	if s != (events.AuditSelection{}) {
		d.Selection = &s
	}
	return d
}

func timePointer(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
