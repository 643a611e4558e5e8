package publisher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/cehttp"
	"github.com/hooktrail/hooktrail/internal/capture/problem"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

const maxIDs = 1000

type accepted struct {
	Accepted   int      `json:"accepted"`
	Duplicates int      `json:"duplicates,omitempty"` // events among them that were stored before
	Shed       int      `json:"shed,omitempty"`       // accepted events that a full outbox dropped, recorded as a gap
	IDs        []string `json:"ids,omitzero"`         // of the first 1000 events

	bytes int // payload of these events
}

func (h *handler) events(w http.ResponseWriter, r *http.Request) {
	done := accepted{IDs: []string{}}
	maxEvent := int(min(DefaultMaxEvent, h.opts.MaxBody))
	for got, err := range cehttp.Read(r, maxEvent) { //nolint:contextcheck // Read uses the context of the request
		if err == nil {
			err = h.take(r.Context(), h.to, got.Event, &done)
			forget(r.Context())
		}
		if err != nil {
			h.refuse(w, r, located(problemOf(err), got, done), err)
			return
		}
	}
	body, err := json.Marshal(done)
	if err != nil {
		h.refuse(w, r, problemOf(err), err) // unreachable: numbers and strings can be encoded
		return
	}
	h.write(w, r, http.StatusAccepted, "application/json", append(body, '\n'))
}

func located(p problem.Problem, at cehttp.Received, done accepted) problem.Problem {
	if p.Index == nil && p.Line == 0 && at.Index >= 0 {
		offset := int(at.Offset)
		p.Index, p.Line, p.Offset = &at.Index, at.Line, &offset
	}
	p.Accepted, p.Duplicates, p.Shed, p.IDs = done.Accepted, done.Duplicates, done.Shed, done.IDs
	return p
}

// take waits at most replyTimeout, because the server cannot notice a lost connection while it
// waits.
func (h *handler) take(ctx context.Context, to Appender, e events.Event, done *accepted) error {
	if k := e.Kind(); ingest.Reserved(k) {
		return fmt.Errorf("%s: %w", k, ingest.ErrReserved)
	}
	if err := h.assign(&e, TenantOf(ctx)); err != nil {
		return err
	}
	setUser(ctx, &e)
	id := e.ID
	waiting, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	stored, err := to.Append(waiting, e)
	switch {
	case errors.Is(err, publish.ErrDuplicate):
		done.Duplicates++
	case errors.Is(err, publish.ErrShed):
		done.Shed++ // not an error, because a retry would only enlarge the gap
	case err != nil:
		return err
	default:
		id = stored.ID
	}
	done.bytes += len(e.Data) + len(e.Binary)
	if done.Accepted++; done.Accepted <= maxIDs {
		done.IDs = append(done.IDs, id)
	}
	return nil
}

func (h *handler) assign(e *events.Event, tenant string) error {
	switch {
	case e.Tenant == "":
		e.Tenant = orDefault(tenant)
	case tenant == "":
		return h.opts.Tenants.Admit(e.Tenant)
	case e.Tenant != tenant:
		return fmt.Errorf("%w: those of %q only are taken from you here", publish.ErrForeignTenant, tenant)
	}
	return nil
}
