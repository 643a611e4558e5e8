package publisher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/ingest"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// DefaultMaxBody bounds the body of a request.
const DefaultMaxBody = 16 << 20

// replyTimeout bounds how long taking and answering a request goes on after its
// body was read.
const replyTimeout = time.Minute

// Appender takes events: a [publish.Publisher]. An event is safe when Append has
// returned nil.
type Appender interface {
	Append(ctx context.Context, e events.Event) (events.Event, error)
}

// HandlerOptions configure a [Handler].
type HandlerOptions struct {
	Tenant      string // the only tenant that is taken; empty takes all, and "default" where an event names none
	MaxBody     int64  // of a request; [DefaultMaxBody] when 0
	AllowRemote bool   // take requests that were sent to another name than the loopback's
	Logger      *slog.Logger

	Decisions http.Handler // of POST /v1/decisions; nil: there are none
	Hooks     http.Handler // of POST /v1/hooks/{tool}, with the path value; nil: there are none
}

// Handler returns the handler of POST /v1/events: CloudEvents in structured,
// binary or batch mode. It answers 202 with the ids once all events are in the
// outbox, else with a problem (RFC 9457) that says where: 400 for what is no
// event, 403 for another tenant's, 408, 413, 415, and 503 when the outbox is full. A
// batch is checked as a whole before any of it is taken; a problem that occurs
// later says how many events were.
//
// With Decisions, it answers POST /v1/decisions too, and with Hooks
// POST /v1/hooks/{tool}: both learn the caller's tenant by [TenantOf].
//
// Pages of other origins are refused, and so are, without AllowRemote, names
// other than the loopback's: no web page can write into the audit trail.
func Handler(to Appender, opts HandlerOptions) http.Handler {
	if opts.MaxBody == 0 {
		opts.MaxBody = DefaultMaxBody
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	h := &handler{to: to, opts: opts}
	mux := http.NewServeMux()
	mux.Handle("POST /v1/events", h.local(h.events))
	if opts.Decisions != nil {
		mux.Handle("POST /v1/decisions", h.local(opts.Decisions.ServeHTTP))
	}
	if opts.Hooks != nil {
		mux.Handle("POST /v1/hooks/{tool}", h.local(opts.Hooks.ServeHTTP))
	}
	return http.NewCrossOriginProtection().Handler(mux)
}

type handler struct {
	to   Appender
	opts HandlerOptions
}

// accepted is the body of a 202.
type accepted struct {
	Accepted int      `json:"accepted"`
	IDs      []string `json:"ids"`
}

// problem is the body of a refusal.
type problem struct {
	Type      string   `json:"type"`
	Title     string   `json:"title"`
	Status    int      `json:"status"`
	Detail    string   `json:"detail"`
	Index     *int     `json:"index,omitempty"`     // of the event in a batch
	Attribute string   `json:"attribute,omitempty"` // of the event
	Offset    *int     `json:"offset,omitempty"`    // in the body
	Accepted  int      `json:"accepted,omitempty"`  // events that were taken all the same
	IDs       []string `json:"ids,omitempty"`       // theirs
}

// local refuses requests that were sent to another name than the loopback's.
func (h *handler) local(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.opts.AllowRemote && !isLoopback(hostOf(r.Host)) {
			h.refuse(w, r, problem{Status: http.StatusMisdirectedRequest, Detail: "this publisher serves the loopback only"}, nil)
			return
		}
		next(w, r.WithContext(withTenant(r.Context(), h.opts.Tenant)))
	})
}

func (h *handler) events(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, h.opts.MaxBody)
	list, err := ingest.FromRequest(r)
	// A slow body may have taken all of the server's time; the answer gets its own.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(replyTimeout)) // not every server has one
	if err != nil {
		h.refuse(w, r, problemOf(err), err)
		return
	}
	ids := make([]string, 0, len(list))
	fail := func(i int, err error) {
		p := problemOf(err)
		if len(list) > 1 {
			p.Index = &i
		}
		p.Accepted, p.IDs = len(ids), ids
		h.refuse(w, r, p, err)
	}
	for i := range list {
		if err := h.assign(&list[i]); err != nil {
			fail(i, err)
			return
		}
	}
	for i, e := range list {
		stored, err := h.to.Append(r.Context(), e)
		if err != nil {
			fail(i, err)
			return
		}
		ids = append(ids, stored.ID)
	}
	h.reply(w, r, http.StatusAccepted, "application/json", accepted{Accepted: len(ids), IDs: ids})
}

// assign gives an event that names no tenant the handler's, and refuses that of
// another one.
func (h *handler) assign(e *events.Event) error {
	switch e.Tenant {
	case "":
		e.Tenant = orDefault(h.opts.Tenant)
	case h.opts.Tenant:
	default:
		if h.opts.Tenant != "" {
			return fmt.Errorf("%w: this publisher takes those of %q only", publish.ErrForeignTenant, h.opts.Tenant)
		}
	}
	return nil
}

// problemOf returns what to tell a sender about err.
func problemOf(err error) problem {
	refused, isRefused := errors.AsType[*ingest.RequestError](err)
	invalid, isInvalid := errors.AsType[*events.InvalidError](err)
	switch {
	case isRefused:
		p := problem{Status: refused.Status, Detail: refused.Error(), Attribute: refused.Attribute}
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
	case errors.Is(err, publish.ErrFull), errors.Is(err, publish.ErrShed):
		return problem{Status: http.StatusServiceUnavailable, Detail: "the outbox is full"}
	case errors.Is(err, publish.ErrClosed):
		return problem{Status: http.StatusServiceUnavailable, Detail: "the publisher is shutting down"}
	}
	return problem{Status: http.StatusInternalServerError, Detail: "the event was not stored"}
}

// refuse answers with p. What is not the sender's fault is logged.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, p problem, cause error) {
	p.Type, p.Title = "about:blank", http.StatusText(p.Status)
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	if p.Status >= http.StatusInternalServerError {
		h.opts.Logger.WarnContext(r.Context(), "events were refused", "status", p.Status, "error", cause)
	}
	h.reply(w, r, p.Status, "application/problem+json", p)
}

func (h *handler) reply(w http.ResponseWriter, r *http.Request, status int, contentType string, body any) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		h.opts.Logger.DebugContext(r.Context(), "reply was not read", "error", err)
	}
}

// hostOf returns the host of "host:port" or of "host" alone, without brackets.
func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
}

// isLoopback reports whether host names this machine's loopback interface.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
