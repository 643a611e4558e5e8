package publisher

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest/otlp"
	"github.com/hooktrail/hooktrail/internal/capture/tokens"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Appender stores events, as [publish.Publisher] does. An event is stored once Append
// returns nil.
type Appender interface {
	Append(ctx context.Context, e events.Event) (events.Event, error)
}

// HandlerOptions configure a [Handler].
type HandlerOptions struct {
	Tenant      string       // the only accepted tenant, or empty for all with "default" for events without one
	MaxBody     int64        // of a request, uncompressed; 0 is [DefaultMaxBody]
	AllowRemote bool         // accept requests to host names outside the loopback
	Tokens      *tokens.File // tokens of senders; nil or without a file: senders need none
	Rate        float64      // events per second and tenant; 0 is no limit
	Logger      *slog.Logger

	Decisions http.Handler // of POST /v1/decisions, nil disables it
	Hooks     http.Handler // of POST /v1/hooks/{tool}, with the path value, nil disables it
}

// Handler returns the handler of all endpoints below /v1.
//
// POST /v1/events takes CloudEvents in structured, binary or batch mode, and as JSON
// lines. The response is 202 with the ids once all events are in the outbox. Errors
// are problems (RFC 9457) with the position of the bad event: 400 for an invalid
// event, 403 for another tenant, 408, 413, 415, and 503 if the outbox is full. Events
// are stored as they come in. A problem says how many events before it were stored.
// Duplicates are accepted and add nothing, see [publish.ErrDuplicate]. A body may be
// compressed with gzip.
//
// POST /v1/traces and POST /v1/logs take OpenTelemetry (OTLP/HTTP, JSON and protobuf).
// Package otlp documents the mapping. POST /v1/decisions and POST /v1/hooks/{tool} go
// to Decisions and Hooks. [TenantOf] gives these handlers the tenant of the caller.
//
// With Tokens, callers need a bearer token and act only for its tenant. A request
// without a valid token gets 401. With Rate, a tenant over its limit gets 429 with
// Retry-After.
//
// The handler refuses requests from pages of other origins. Without AllowRemote it
// also refuses host names outside the loopback, so that no web page can write events.
func Handler(to Appender, opts HandlerOptions) http.Handler {
	if opts.MaxBody == 0 {
		opts.MaxBody = DefaultMaxBody
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	h := &handler{to: to, opts: opts, rates: newRates(opts.Rate)}
	mux := http.NewServeMux()
	handle := func(pattern string, next http.HandlerFunc) {
		mux.Handle(pattern, h.local(drained(h.authorized(h.rateLimited(h.sizeLimited(next))))))
	}
	handle("POST /v1/events", h.events)
	handle("POST /v1/traces", h.otlp(otlp.Traces))
	handle("POST /v1/logs", h.otlp(otlp.Logs))
	if opts.Decisions != nil {
		handle("POST /v1/decisions", opts.Decisions.ServeHTTP)
	}
	if opts.Hooks != nil {
		handle("POST /v1/hooks/{tool}", opts.Hooks.ServeHTTP)
	}
	return http.NewCrossOriginProtection().Handler(mux)
}

type handler struct {
	to    Appender
	opts  HandlerOptions
	rates *rates
}

// local refuses requests to host names outside the loopback.
func (h *handler) local(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.opts.AllowRemote && !isLoopback(hostOf(r.Host)) {
			h.refuse(w, r, problem{Status: http.StatusMisdirectedRequest, Detail: "this publisher serves the loopback only"}, nil)
			return
		}
		next(w, r)
	})
}

// hostOf returns the host of "host:port" or "host", without brackets.
func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
}

// isLoopback reports whether host is the loopback interface.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
