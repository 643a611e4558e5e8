package publisher

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/otlp"
	"github.com/hooktrail/hooktrail/internal/capture/intake"
	"github.com/hooktrail/hooktrail/internal/capture/problem"
	"github.com/hooktrail/hooktrail/internal/capture/tokens"
	"github.com/hooktrail/hooktrail/internal/stream/admission"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Appender stores events, as [publish.Publisher] does. When Append returns nil, the event
// is stored.
type Appender interface {
	Append(ctx context.Context, e events.Event) (events.Event, error)
}

// HandlerOptions configure a [Handler].
type HandlerOptions struct {
	Tenant      string            // the only accepted tenant; empty accepts all, and events without a tenant get "default"
	MaxBody     int64             // limit of an uncompressed request body in bytes; 0 is [DefaultMaxBody]
	AllowRemote bool              // accept requests to host names outside the loopback
	Tokens      *tokens.File      // nil if senders need no token
	Tenants     *admission.Policy // decides which tenants an event may name; nil accepts all
	Logger      *slog.Logger
	DataDir     string // where telemetry-calls counts equal calls of telemetry; empty counts in memory

	Decisions http.Handler // handler of POST /v1/decisions; may be nil
	Hooks     http.Handler // handler of POST /v1/hooks/{tool}; may be nil
	Idle      *IdleRuns    // ends runs of logs; may be nil

	Room intake.Limits // of open requests and their bodies
}

// Handler returns the handler of all endpoints below /v1, which docs/http.md describes.
//
// POST /v1/events stores CloudEvents while they arrive, and answers 202 when all are in the outbox.
// Errors are problems (RFC 9457) with the position of the bad event and the number of events stored
// before it. Duplicates are accepted, but not stored again, see [publish.ErrDuplicate].
//
// If tokens are required, a caller needs a bearer token and acts only for the tenant of
// the token. If the Appender returns a [quota.ExceededError], the caller gets 429 with
// Retry-After. Requests and bodies beyond opts.Room get 429 or 503.
//
// The handler refuses other origins, so that web pages cannot write events. Without AllowRemote, it
// also refuses host names outside the loopback.
func Handler(to Appender, opts HandlerOptions) http.Handler {
	opts.MaxBody = cmp.Or(opts.MaxBody, DefaultMaxBody)
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	h := &handler{to: to, logs: to, opts: opts, calls: agents.NewCallIDs(), decoding: make(chan struct{}, maxDecoding), room: intake.NewRoom(opts.Room)}
	h.bodies, _ = to.(bodyLimiter)
	if opts.Idle != nil {
		h.to, h.logs = opts.Idle.Others(to), opts.Idle.Ended(to)
	}
	if opts.DataDir != "" {
		h.calls = agents.SharedCallIDs(filepath.Join(opts.DataDir, "telemetry-calls"))
	}
	mux := http.NewServeMux()
	handle := func(pattern string, next http.HandlerFunc) {
		mux.Handle(pattern, h.local(drained(h.authorized(h.placed(h.sizeLimited(counted(next)))))))
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
	logs  Appender // for logs of telemetry
	opts  HandlerOptions
	calls agents.CallIDs // of telemetry

	bodies   bodyLimiter   // nil without limits
	decoding chan struct{} // a place for each large body that is decoded
	room     *intake.Room
}

func (h *handler) local(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.opts.AllowRemote && !isLoopback(hostOf(r.Host)) {
			h.refuse(w, r, problem.Problem{Status: http.StatusMisdirectedRequest, Detail: "this publisher serves the loopback only"}, nil)
			return
		}
		next(w, r)
	})
}

func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
