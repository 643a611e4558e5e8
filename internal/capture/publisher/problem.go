package publisher

import (
	"context"
	"errors"
	"net/http"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/cehttp"
	"github.com/hooktrail/hooktrail/internal/capture/intake"
	"github.com/hooktrail/hooktrail/internal/capture/problem"
	"github.com/hooktrail/hooktrail/internal/capture/quota"
	"github.com/hooktrail/hooktrail/internal/stream/admission"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

func problemOf(err error) problem.Problem {
	refused, isRefused := errors.AsType[*cehttp.Error](err)
	invalid, isInvalid := errors.AsType[*events.InvalidError](err)
	_, isExceeded := errors.AsType[*quota.ExceededError](err)
	busy, isBusy := errors.AsType[*intake.BusyError](err)
	switch {
	case isBusy:
		return problem.Problem{Status: busy.Status, Detail: busy.Error()}
	case isExceeded:
		return problem.Problem{Status: http.StatusTooManyRequests, Detail: err.Error(), Attribute: "tenant"}
	case isRefused:
		p := problem.Problem{Status: refused.Status, Detail: refused.Error(), Attribute: refused.Attribute, Line: refused.Line}
		if refused.Index >= 0 {
			p.Index = &refused.Index
		}
		if refused.Offset >= 0 {
			p.Offset = &refused.Offset
		}
		return p
	case isInvalid:
		return problem.Problem{Status: http.StatusBadRequest, Detail: invalid.Error(), Attribute: invalid.Attribute}
	case errors.Is(err, subjects.ErrID), errors.Is(err, ingest.ErrReserved):
		return problem.Problem{Status: http.StatusBadRequest, Detail: err.Error()}
	case errors.Is(err, publish.ErrForeignTenant), errors.Is(err, admission.ErrTenant):
		return problem.Problem{Status: http.StatusForbidden, Detail: err.Error(), Attribute: "tenant"}
	case errors.Is(err, publish.ErrTooLarge):
		return problem.Problem{Status: http.StatusRequestEntityTooLarge, Detail: "the event is larger than the outbox may be: --quota allows more"}
	case errors.Is(err, publish.ErrFull), errors.Is(err, context.DeadlineExceeded):
		return problem.Problem{Status: http.StatusServiceUnavailable, Detail: "the outbox is full"}
	case errors.Is(err, publish.ErrClosed):
		return problem.Problem{Status: http.StatusServiceUnavailable, Detail: "the publisher is shutting down"}
	}
	return problem.Problem{Status: http.StatusInternalServerError, Detail: "the event was not stored"}
}

func (h *handler) refuse(w http.ResponseWriter, r *http.Request, p problem.Problem, cause error) {
	if exceeded, ok := errors.AsType[*quota.ExceededError](cause); ok {
		exceeded.SetRetryAfter(w.Header())
	}
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	setBusy(w, cause)
	if p.Status >= http.StatusInternalServerError {
		h.opts.Logger.WarnContext(r.Context(), "events refused", "status", p.Status, "error", cause)
	}
	if err := p.Write(w); err != nil {
		h.opts.Logger.DebugContext(r.Context(), "response was not sent", "error", err)
	}
}

func setBusy(w http.ResponseWriter, cause error) {
	if busy, ok := errors.AsType[*intake.BusyError](cause); ok {
		busy.SetHeader(w.Header())
	}
}
