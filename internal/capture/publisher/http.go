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

// Appender takes events: a [publish.Publisher]. An event is safe when Append has
// returned nil.
type Appender interface {
	Append(ctx context.Context, e events.Event) (events.Event, error)
}

// HandlerOptions configure a [Handler].
type HandlerOptions struct {
	Tenant      string       // the only tenant that is taken; empty takes all, and "default" where an event names none
	MaxBody     int64        // of a request, inflated; [DefaultMaxBody] when 0
	AllowRemote bool         // take requests that were sent to another name than the loopback's
	Tokens      *tokens.File // who may send for whom; nil, or without a file: everybody for everybody
	Rate        float64      // events per second that each tenant may send; 0 is no limit
	Logger      *slog.Logger

	Decisions http.Handler // of POST /v1/decisions; nil: there are none
	Hooks     http.Handler // of POST /v1/hooks/{tool}, with the path value; nil: there are none
}

// Handler returns the handler of POST /v1/events: CloudEvents in structured,
// binary or batch mode, and in JSON lines. It answers 202 with the ids once all
// events are in the outbox, else with a problem (RFC 9457) that says where: 400
// for what is no event, 403 for another tenant's, 408, 413, 415, and 503 when the
// outbox is full. Events are taken as they come in, so those before the first bad
// one were, and the problem says how many. An event that was taken before, by
// tenant, source and id, is accepted and adds nothing where the Appender knows it
// ([publish.ErrDuplicate]). Bodies may be gzip.
//
// OpenTelemetry exporters send to POST /v1/traces and POST /v1/logs (OTLP/HTTP,
// JSON and protobuf): package otlp says what becomes of it.
//
// With Decisions, it answers POST /v1/decisions too, and with Hooks
// POST /v1/hooks/{tool}: both learn the caller's tenant by [TenantOf].
//
// With Tokens, callers need a bearer token, and act for its tenant alone: 401
// without a valid one. With Rate, 429 and Retry-After tell to send less.
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
	h := &handler{to: to, opts: opts, rates: newRates(opts.Rate)}
	mux := http.NewServeMux()
	handle := func(pattern string, next http.HandlerFunc) {
		mux.Handle(pattern, h.local(drained(h.authorized(h.metered(h.limited(next))))))
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

// local refuses requests that were sent to another name than the loopback's.
func (h *handler) local(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.opts.AllowRemote && !isLoopback(hostOf(r.Host)) {
			h.refuse(w, r, problem{Status: http.StatusMisdirectedRequest, Detail: "this publisher serves the loopback only"}, nil)
			return
		}
		next(w, r)
	})
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
