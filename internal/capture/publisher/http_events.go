package publisher

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/hooktrail/hooktrail/internal/capture/ingest/cehttp"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// maxIDs is up to how many events an answer lists ids.
const maxIDs = 1000

// accepted is the body of a 202.
type accepted struct {
	Accepted   int      `json:"accepted"`
	Duplicates int      `json:"duplicates,omitempty"` // how many of them had been taken before
	Shed       int      `json:"shed,omitempty"`       // how many of them are lost, and recorded as a gap, under --full shed
	IDs        []string `json:"ids,omitzero"`         // of the first thousand
}

// events takes the events of a request one by one, as they come in. It stops at
// the first that cannot be taken: those before it were, and sending all again
// adds none of them twice.
func (h *handler) events(w http.ResponseWriter, r *http.Request) {
	done := accepted{IDs: []string{}}
	maxEvent := int(min(DefaultMaxEvent, h.opts.MaxBody))
	for got, err := range cehttp.Read(r, maxEvent) { //nolint:contextcheck // the request has it
		if err == nil {
			err = h.take(r.Context(), got.Event, &done)
		}
		if err != nil {
			h.refuse(w, r, placed(problemOf(err), got, done), err)
			return
		}
	}
	h.reply(w, r, http.StatusAccepted, "application/json", done)
}

// placed returns p with the place of the event that is to blame, and with what
// was taken before it.
func placed(p problem, at cehttp.Received, done accepted) problem {
	if p.Index == nil && p.Line == 0 && at.Index >= 0 {
		offset := int(at.Offset)
		p.Index, p.Line, p.Offset = &at.Index, at.Line, &offset
	}
	p.Accepted, p.Duplicates, p.Shed, p.IDs = done.Accepted, done.Duplicates, done.Shed, done.IDs
	return p
}

// take stores e as the caller's. Where the outbox waits for room, a sender waits
// for no longer than an answer may take: whether it is still there cannot be seen
// while its body comes in.
func (h *handler) take(ctx context.Context, e events.Event, done *accepted) error {
	if err := assign(&e, TenantOf(ctx)); err != nil {
		return err
	}
	id := e.ID
	waiting, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	stored, err := h.to.Append(waiting, e)
	switch {
	case errors.Is(err, publish.ErrDuplicate):
		done.Duplicates++
	case errors.Is(err, publish.ErrShed):
		done.Shed++ // to send it again would only add to the gap
	case err != nil:
		return err
	default:
		id = stored.ID
	}
	charge(ctx)
	if done.Accepted++; done.Accepted <= maxIDs {
		done.IDs = append(done.IDs, id)
	}
	return nil
}

// assign gives an event that names no tenant the caller's, and refuses that of
// another one. A caller without a tenant may name any.
func assign(e *events.Event, tenant string) error {
	switch {
	case e.Tenant == "":
		e.Tenant = orDefault(tenant)
	case tenant != "" && e.Tenant != tenant:
		return fmt.Errorf("%w: those of %q only are taken from you here", publish.ErrForeignTenant, tenant)
	}
	return nil
}
