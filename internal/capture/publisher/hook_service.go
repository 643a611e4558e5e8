package publisher

import (
	"context"
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
	"github.com/hooktrail/hooktrail/internal/capture/hooksocket"
	"github.com/hooktrail/hooktrail/internal/capture/intake"
	"github.com/hooktrail/hooktrail/internal/capture/problem"
	"github.com/hooktrail/hooktrail/internal/platform/hookid"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// HookService runs hooks for agents. It receives hook payloads at POST /v1/hooks/{tool}, and
// requests for decisions on a local socket.
type HookService struct {
	registry *hooks.Registry
	callIDs  agents.CallIDs
	idKey    []byte
	to       Appender
	opts     Options
	owed     owed
}

// NewHookService returns a HookService that runs the hooks of the file, which may be nil. It stores
// events with the Appender.
func NewHookService(file *hookfile.File, to Appender, opts Options) (*HookService, error) {
	opts = opts.withDefaults()
	key, err := hookid.Key(opts.DataDir)
	if err != nil { // without the key, hooks still work, but their event ids can be predicted
		opts.Logger.Warn("ids of hook events can be predicted", "error", err)
	}
	s := &HookService{to: to, opts: opts, callIDs: hookclient.CallIDs(opts.DataDir), idKey: key}
	s.registry = hooks.NewRegistry(hooks.Options{Appender: hookclient.LateOnly{To: to}, Source: hookclient.Source, Logger: opts.Logger})
	if file == nil {
		return s, nil
	}
	return s, file.Register(s.registry, ownHooks(opts.Broker))
}

func (s *HookService) close(ctx context.Context) {
	if err := s.registry.Close(ctx); err != nil {
		s.opts.Logger.WarnContext(ctx, "hooks did not end in time", "error", err)
	}
	if err := s.owed.settle(ctx, s.to); err != nil {
		s.opts.Logger.ErrorContext(ctx, "denials lost", "error", err)
	}
}

// ServeHTTP answers a payload with status 200 after its event is in the outbox. The body is the
// stdout of the hook command, and the headers have its stderr and exit status. Errors are problems
// with status 403 for a refused tenant, 404 for an unknown tool, 413 for a large body, or 503 if
// the event cannot be recorded. A deny or an ask gets status 200 even then.
//
// A body of type [hookclient.DocumentType] is a request for a decision.
func (s *HookService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tool, err := agents.Named(r.PathValue("tool"))
	if err != nil {
		s.refuse(w, r, http.StatusNotFound, err)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, hookclient.MaxPayload))
	// Set a new deadline, because a slow body may have used up the old one. Ignore the error,
	// because some servers do not support deadlines.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(hooks.DefaultChainTimeout + replyTimeout))
	if err != nil {
		status := http.StatusBadRequest
		if busy, ok := errors.AsType[*intake.BusyError](err); ok {
			setBusy(w, err)
			s.refuse(w, r, busy.Status, err)
			return
		}
		if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong {
			status = http.StatusRequestEntityTooLarge
		}
		s.refuse(w, r, status, errors.New("the body was cut off, or has more than "+strconv.Itoa(hookclient.MaxPayload)+" bytes"))
		return
	}
	if hooksocket.IsLate(r.Header.Get(hooksocket.BeginHeader)) {
		s.refuse(w, r, http.StatusRequestTimeout, errors.New("the sender no longer waits, and records the payload itself"))
		return
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && media == hookclient.DocumentType {
		s.serveDocument(w, r, body)
		return
	}
	s.servePayload(w, r, tool, body)
}

func (s *HookService) servePayload(w http.ResponseWriter, r *http.Request, tool *agents.Tool, body []byte) {
	ctx := r.Context()
	c, err := s.contextOf(r)
	if err != nil {
		s.refuse(w, r, http.StatusForbidden, err)
		return
	}
	p, err := tool.Parse(body, c)
	if err != nil {
		if r.Header.Get(hooksocket.ReadableHeader) != "" {
			s.refuse(w, r, http.StatusUnprocessableEntity, err)
			return
		}
		p = tool.Unreadable(body, c)
	}
	if r.Header.Get(hooksocket.ProgressHeader) != "" {
		w.WriteHeader(http.StatusProcessing)
	}
	out := hooks.DocumentOutcome{Point: p.Document.Point, Verdict: hooks.None}
	list := p.Events
	if p.Document.Point != "" {
		p.Document.Meta.Tenant, p.Document.Meta.User = c.Tenant, UserOf(ctx)
		if out, err = s.dispatch(ctx, p.Document); err != nil {
			s.opts.Logger.WarnContext(ctx, "hooks were not dispatched", "tool", tool.Name(), "event", p.Event, "error", err)
			out = hooks.DocumentOutcome{Point: p.Document.Point, Verdict: hooks.None}
		}
		list = p.Decided(out)
	}
	reply := tool.Reply(p, out)
	if err := s.record(ctx, list); err != nil {
		if out.Verdict != hooks.Deny && out.Verdict != hooks.Ask || agents.IsCanary(p.Document) {
			s.refuse(w, r, problemOf(err).Status, err)
			return
		}
		// The denial could not be recorded. Send it anyway, because the agent would continue after
		// an error response. Record it as soon as the outbox has room.
		s.owe(ctx, list)
		s.opts.Logger.ErrorContext(ctx, "denial not recorded", "tool", tool.Name(), "event", p.Event, "error", err)
	}
	w.Header().Set(hooksocket.ExitHeader, strconv.Itoa(reply.Exit))
	if reply.Stderr != "" {
		w.Header().Set(hooksocket.StderrHeader, url.QueryEscape(reply.Stderr))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Write(reply.Stdout)
}

func (s *HookService) dispatch(ctx context.Context, d hooks.Document) (hooks.DocumentOutcome, error) {
	if agents.IsCanary(d) {
		return agents.CanaryOutcome("by the publisher"), nil
	}
	return s.registry.DispatchDocument(ctx, d)
}

func (s *HookService) record(ctx context.Context, list []events.Event) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hookclient.DefaultTimeout)
	defer cancel()
	for _, e := range list {
		setUser(ctx, &e)
		if _, err := s.to.Append(ctx, e); err != nil && !errors.Is(err, publish.ErrDuplicate) {
			return fmt.Errorf("record event %s: %w", e.ID, err)
		}
	}
	if err := s.owed.settle(ctx, s.to); err != nil {
		s.opts.Logger.WarnContext(ctx, "earlier denials still not recorded", "error", err)
	}
	return nil
}

func (s *HookService) owe(ctx context.Context, list []events.Event) {
	for i := range list {
		setUser(ctx, &list[i])
	}
	s.owed.add(list)
}

// serveDocument sends the headers at once, so that the client can tell a slow hook from a hanging
// server.
func (s *HookService) serveDocument(w http.ResponseWriter, r *http.Request, body []byte) {
	d, err := hookclient.DecodeDocument(body)
	if err != nil {
		s.refuse(w, r, http.StatusBadRequest, err)
		return
	}
	tenant, err := s.tenantFor(r.Context(), d.Meta.Tenant)
	if err != nil {
		s.refuse(w, r, http.StatusForbidden, err)
		return
	}
	if _, err := subjects.Token(tenant); err != nil {
		s.refuse(w, r, http.StatusBadRequest, fmt.Errorf("tenant: %w", err))
		return
	}
	if err := s.opts.Tenants.Admit(tenant); err != nil {
		s.refuse(w, r, http.StatusForbidden, err)
		return
	}
	d.Meta.Tenant, d.Meta.User = tenant, userFor(r.Context(), d.Meta.User)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush() // best effort
	out, err := s.dispatch(r.Context(), d)
	if err != nil {
		s.opts.Logger.WarnContext(r.Context(), "hooks were not dispatched", "point", d.Point, "error", err)
		return // the client rejects the empty body
	}
	answer, err := hookclient.EncodeOutcome(out)
	if err == nil {
		_, err = w.Write(append(answer, '\n'))
	}
	if err != nil {
		s.opts.Logger.DebugContext(r.Context(), "response was not sent", "error", err)
	}
}

func (s *HookService) refuse(w http.ResponseWriter, r *http.Request, status int, err error) {
	if status >= http.StatusInternalServerError {
		w.Header().Set("Retry-After", "1")
		s.opts.Logger.LogAttrs(r.Context(), slog.LevelWarn, "hook payload refused", slog.Int("status", status), slog.Any("error", err))
	}
	if err := (problem.Problem{Status: status, Detail: err.Error()}).Write(w); err != nil {
		s.opts.Logger.DebugContext(r.Context(), "response was not sent", "error", err)
	}
}
