package publisher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// The headers of an answer to a hook payload.
const (
	ExitHeader   = "Hooktrail-Exit"   // the status that the hook command would end with
	StderrHeader = "Hooktrail-Stderr" // what it would say on stderr, escaped as in a URL
)

// HookService answers hook payloads of agents: POST /v1/hooks/{tool}, and on the
// socket of a data directory what publisher hook asks.
type HookService struct {
	registry *hooks.Registry
	pairs    agents.Pairs
	to       Appender
	opts     Options
}

// NewHookService returns the service with the hooks of file, which may be nil,
// and the outbox that payloads are recorded in. [HookService.Start] has it run.
func NewHookService(file *hookfile.File, to Appender, opts Options) (*HookService, error) {
	opts = opts.withDefaults()
	s := &HookService{to: to, opts: opts, pairs: hookclient.CallPairs(opts.DataDir)}
	s.registry = hooks.NewRegistry(hooks.Options{Appender: hookclient.LateOnly{To: to}, Source: hookclient.Source, Logger: opts.Logger})
	if file == nil {
		return s, nil
	}
	err := file.Register(s.registry, hookfile.Options{
		Conn: opts.Broker.Conn(), Space: opts.Broker.Space(), Serving: true, Logger: opts.Logger,
	})
	return s, err
}

// close waits until ctx ends for hooks that nobody waits for any more.
func (s *HookService) close(ctx context.Context) {
	if err := s.registry.Close(ctx); err != nil {
		s.opts.Logger.WarnContext(ctx, "hooks did not end", "error", err)
	}
}

// ServeHTTP answers a payload as its tool expects it: 200 with what the hook
// command would print, and in [ExitHeader] and [StderrHeader] how it would end.
// The event is in the outbox then. ?event=NAME names the event of payloads that
// do not say it. Other answers are problems: 400 for another tenant's, 404 for a
// tool that is not known, 413, and 503 when nothing can be recorded; but what hooks
// deny is answered all the same.
func (s *HookService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tool, err := agents.Named(r.PathValue("tool"))
	if err != nil {
		s.refuse(w, r, http.StatusNotFound, err)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, hookclient.MaxPayload))
	// A slow body may have taken all of the server's time; the rest gets its own.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(hooks.DefaultChainTimeout + replyTimeout)) // not every server has one
	if err != nil {
		status := http.StatusBadRequest
		if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong {
			status = http.StatusRequestEntityTooLarge
		}
		s.refuse(w, r, status, errors.New("the body was cut off, or has more than "+strconv.Itoa(hookclient.MaxPayload)+" bytes"))
		return
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && media == hookclient.DocumentType {
		s.document(w, r, body)
		return
	}
	s.payload(w, r, tool, body)
}

// tenant returns whose the payloads of a caller are.
func (s *HookService) tenant(ctx context.Context) string {
	if tenant := TenantOf(ctx); tenant != "" {
		return tenant
	}
	return orDefault(s.opts.Tenant)
}

// payload answers a payload.
func (s *HookService) payload(w http.ResponseWriter, r *http.Request, tool *agents.Tool, body []byte) {
	ctx := r.Context()
	c := agents.Context{Tenant: s.tenant(ctx), Now: time.Now().UTC(), Event: r.URL.Query().Get("event"), Pairs: s.pairs}
	p, err := tool.Parse(body, c)
	if err != nil {
		p = tool.Unreadable(body, c)
	}
	out := hooks.DocumentOutcome{Point: p.Document.Point, Verdict: hooks.None}
	list := p.Events
	if p.Document.Point != "" {
		p.Document.Meta.Tenant = c.Tenant
		if out, err = s.registry.DispatchDocument(ctx, p.Document); err != nil {
			s.opts.Logger.WarnContext(ctx, "hooks were not asked", "tool", tool.Name(), "event", p.Event, "error", err)
			out = hooks.DocumentOutcome{Point: p.Document.Point, Verdict: hooks.None}
		}
		list = p.Decided(out)
	}
	reply := tool.Reply(p, out)
	if err := s.record(ctx, list); err != nil {
		if out.Verdict != hooks.Deny && out.Verdict != hooks.Ask {
			s.refuse(w, r, problemOf(err).Status, err)
			return
		}
		// Agents go on after any other answer than their own.
		s.opts.Logger.ErrorContext(ctx, "denial was not recorded", "tool", tool.Name(), "event", p.Event, "error", err)
	}
	w.Header().Set(ExitHeader, strconv.Itoa(reply.Exit))
	if reply.Stderr != "" {
		w.Header().Set(StderrHeader, url.QueryEscape(reply.Stderr))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Write(reply.Stdout)
}

// record brings events into the outbox, within the time that an agent may be kept
// waiting: it may be one that blocks while it is full.
func (s *HookService) record(ctx context.Context, list []events.Event) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hookclient.DefaultTimeout)
	defer cancel()
	for _, e := range list {
		if _, err := s.to.Append(ctx, e); err != nil && !errors.Is(err, publish.ErrDuplicate) {
			return fmt.Errorf("record event %s: %w", e.ID, err)
		}
	}
	return nil
}

// document answers what publisher hook asks. It says at once that it is there,
// so that the command knows a slow hook from a server that hangs.
func (s *HookService) document(w http.ResponseWriter, r *http.Request, body []byte) {
	d, err := hookclient.DecodeDocument(body)
	if err != nil {
		s.refuse(w, r, http.StatusBadRequest, err)
		return
	}
	tenant := s.tenant(r.Context())
	if own := TenantOf(r.Context()); own == "" && s.opts.Tenant == "" && d.Meta.Tenant != "" {
		tenant = d.Meta.Tenant
	}
	if d.Meta.Tenant != "" && d.Meta.Tenant != tenant {
		s.refuse(w, r, http.StatusForbidden, errors.New("tenant: another one than may be asked for here"))
		return
	}
	if _, err := subjects.Token(tenant); err != nil {
		s.refuse(w, r, http.StatusBadRequest, fmt.Errorf("tenant: %w", err))
		return
	}
	d.Meta.Tenant = tenant
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush() // not every server can; then the answer comes whole
	out, err := s.registry.DispatchDocument(r.Context(), d)
	if err != nil {
		s.opts.Logger.WarnContext(r.Context(), "hooks were not asked", "point", d.Point, "error", err)
		return // a body that is no answer
	}
	answer, err := hookclient.EncodeOutcome(out)
	if err == nil {
		_, err = w.Write(append(answer, '\n'))
	}
	if err != nil {
		s.opts.Logger.DebugContext(r.Context(), "reply was not read", "error", err)
	}
}

// refuse answers with a problem.
func (s *HookService) refuse(w http.ResponseWriter, r *http.Request, status int, err error) {
	if status >= http.StatusInternalServerError {
		w.Header().Set("Retry-After", "1")
		s.opts.Logger.LogAttrs(r.Context(), slog.LevelWarn, "hook payload was refused", slog.Int("status", status), slog.Any("error", err))
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	p := problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: err.Error()}
	if err := json.NewEncoder(w).Encode(p); err != nil {
		s.opts.Logger.DebugContext(r.Context(), "reply was not read", "error", err)
	}
}
