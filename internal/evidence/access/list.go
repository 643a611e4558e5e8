package access

import (
	"context"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Use is one recorded use of the evidence in a ledger.
type Use struct {
	Leaf     int64              `json:"leaf"`
	ID       string             `json:"id"`
	Time     time.Time          `json:"time"`     // by the clock of the recording process
	Producer string             `json:"producer"` // of the outbox that sent it
	Action   events.AuditAction `json:"action"`
	By       string             `json:"by"` // person that the caller named
	// User is the operating system's user with the host name.
	User   string                 `json:"user,omitempty"`
	Reason string                 `json:"reason,omitempty"`
	Ticket string                 `json:"ticket,omitempty"`
	What   *events.AuditSelection `json:"selection,omitempty"` // nil means everything
	As     string                 `json:"as,omitempty"`
	// Order is true if the record contains an order, whose effect auditor verify reports.
	Order bool `json:"order"`
	// OrderedBy is the person who gave the order, if another person approved it.
	OrderedBy string `json:"ordered_by,omitempty"`

	// Unreadable means that the payload is invalid. Any producer can send such an event.
	Unreadable bool `json:"unreadable,omitempty"`
}

// Filter selects uses that match every set field.
type Filter struct {
	By     string
	Action events.AuditAction
	// Run selects uses of evidence that may have included records of this run.
	Run      string
	From, To time.Time // time of the use; zero means no limit
}

// List returns the uses in a ledger that match the filter, in ledger order.
func List(ctx context.Context, r *ledger.Reader, f Filter) ([]Use, error) {
	list := []Use{}
	for e, err := range r.Accesses(ctx) {
		if err != nil {
			return nil, err
		}
		a := Read(e)
		ok, err := f.fits(ctx, r, a)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, a)
		}
	}
	return list, nil
}

// Read converts a ledger entry about a use of evidence to a Use. If the entry's payload is
// invalid, Read sets Use.Unreadable.
func Read(e ledger.Entry) Use {
	a := Use{Leaf: e.Leaf, ID: e.ID, Time: e.Time, Producer: e.Producer}
	event, err := events.Decode(e.Bytes)
	if err != nil {
		a.Unreadable = true
		return a
	}
	signed := ledger.OrderIn(event)
	if o, ok := ledger.ApprovedOrder(signed); ok {
		a.OrderedBy = o.By
	}
	a.Order = signed != ""
	d, err := events.Payload[events.AuditAccessedData](event)
	if err != nil {
		a.Unreadable = true
		return a
	}
	_, large := d.Blobs["order"]
	a.Action, a.By, a.User, a.Reason, a.Ticket = d.Action, d.By, d.User, d.Reason, d.Ticket
	a.What, a.As, a.Order = d.Selection, d.As, a.Order || large
	return a
}

func (f Filter) fits(ctx context.Context, r *ledger.Reader, a Use) (bool, error) {
	if f.By != "" && a.By != f.By && a.User != f.By || f.Action != "" && a.Action != f.Action {
		return false, nil
	}
	if !f.From.IsZero() && a.Time.Before(f.From) || !f.To.IsZero() && !a.Time.Before(f.To) {
		return false, nil
	}
	return f.mayTouch(ctx, r, a.What)
}

func (f Filter) mayTouch(ctx context.Context, r *ledger.Reader, selection *events.AuditSelection) (bool, error) {
	if f.Run == "" || selection == nil {
		return true, nil
	}
	if selection.Event != "" {
		e, ok, err := r.Find(ctx, selection.Event)
		return ok && e.Run == f.Run, err
	}
	return selection.Run == "" || selection.Run == f.Run, nil
}
