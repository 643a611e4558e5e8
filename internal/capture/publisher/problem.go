package publisher

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/hooktrail/hooktrail/internal/capture/ingest/cehttp"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// problem is the body of an error response.
type problem struct {
	Type       string   `json:"type"`
	Title      string   `json:"title"`
	Status     int      `json:"status"`
	Detail     string   `json:"detail"`
	Index      *int     `json:"index,omitempty"`      // of the event in a batch
	Attribute  string   `json:"attribute,omitempty"`  // of the event
	Line       int      `json:"line,omitempty"`       // in the body, from 1
	Offset     *int     `json:"offset,omitempty"`     // in the body
	Accepted   int      `json:"accepted,omitempty"`   // events stored before the error
	Duplicates int      `json:"duplicates,omitempty"` // events among them that were stored before
	Shed       int      `json:"shed,omitempty"`       // events among them that were dropped and recorded as a gap
	IDs        []string `json:"ids,omitempty"`        // ids of the accepted events
}

// problemOf returns the problem that a sender gets for err.
func problemOf(err error) problem {
	refused, isRefused := errors.AsType[*cehttp.Error](err)
	invalid, isInvalid := errors.AsType[*events.InvalidError](err)
	switch {
	case isRefused:
		p := problem{Status: refused.Status, Detail: refused.Error(), Attribute: refused.Attribute, Line: refused.Line}
		if refused.Index >= 0 {
			p.Index = &refused.Index
		}
		if refused.Offset >= 0 {
			p.Offset = &refused.Offset
		}
		return p
	case isInvalid:
		return problem{Status: http.StatusBadRequest, Detail: invalid.Error(), Attribute: invalid.Attribute}
	case errors.Is(err, subjects.ErrID):
		return problem{Status: http.StatusBadRequest, Detail: err.Error()}
	case errors.Is(err, publish.ErrForeignTenant):
		return problem{Status: http.StatusForbidden, Detail: err.Error(), Attribute: "tenant"}
	case errors.Is(err, publish.ErrTooLarge):
		return problem{Status: http.StatusRequestEntityTooLarge, Detail: "the event is larger than the outbox may be: --quota allows more"}
	case errors.Is(err, publish.ErrFull), errors.Is(err, context.DeadlineExceeded):
		return problem{Status: http.StatusServiceUnavailable, Detail: "the outbox is full"}
	case errors.Is(err, publish.ErrClosed):
		return problem{Status: http.StatusServiceUnavailable, Detail: "the publisher is shutting down"}
	}
	return problem{Status: http.StatusInternalServerError, Detail: "the event was not stored"}
}

// refuse sends p. It logs errors of the server.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, p problem, cause error) {
	p.Type, p.Title = "about:blank", http.StatusText(p.Status)
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	if p.Status >= http.StatusInternalServerError {
		h.opts.Logger.WarnContext(r.Context(), "events refused", "status", p.Status, "error", cause)
	}
	h.reply(w, r, p.Status, "application/problem+json", p)
}

// reply sends body as JSON.
func (h *handler) reply(w http.ResponseWriter, r *http.Request, status int, contentType string, body any) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		h.opts.Logger.DebugContext(r.Context(), "response was not sent", "error", err)
	}
}
