package decision

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/wire"
)

// Options configure a [Service].
type Options struct {
	Registry *hooks.Registry // its hooks decide, and its Appender records
	Tenant   string          // the only accepted tenant, or "" for all; a missing tenant becomes "default"
	Space    subjects.Space
	Caller   func(ctx context.Context) (tenant string)               // the only tenant of an HTTP caller, or "" for any; may be nil
	User     func(ctx context.Context, claimed string) (user string) // returns the user to record; nil records the claimed user
	Admit    func(tenant string) error                               // rejects an unknown tenant; may be nil
	Timeout  time.Duration                                           // upper limit for one decision; 0 is [DefaultTimeout]
	MaxOpen  int                                                     // limit of concurrent decisions; a tenant gets half; 0 is [DefaultMaxOpen]
	Logger   *slog.Logger
}

// Defaults of Options.Timeout and Options.MaxOpen.
const (
	DefaultTimeout = hooks.DefaultChainTimeout + 5*time.Second
	DefaultMaxOpen = 256
)

// Service runs hooks for clients that request decisions. It is safe for concurrent use.
type Service struct {
	opts  Options
	slots chan struct{}

	// mu guards closed and deciding. It is also locked during calls of open.Go, because open.Go
	// must not be called after closed is set.
	mu       sync.Mutex
	closed   bool
	open     sync.WaitGroup // open requests over NATS
	deciding map[string]int // open decisions by tenant
}

// New returns a service, which is an HTTP handler. Call [Service.Run] to answer requests over NATS
// too.
func New(opts Options) *Service {
	if opts.Timeout <= 0 {
		opts.Timeout = DefaultTimeout
	}
	if opts.MaxOpen <= 0 {
		opts.MaxOpen = DefaultMaxOpen
	}
	if opts.Caller == nil {
		opts.Caller = func(context.Context) string { return "" }
	}
	if opts.User == nil {
		opts.User = func(_ context.Context, claimed string) string { return claimed }
	}
	if opts.Admit == nil {
		opts.Admit = func(string) error { return nil }
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{opts: opts, slots: make(chan struct{}, opts.MaxOpen), deciding: map[string]int{}}
}

// refusal is the error that a client receives. It quotes no text of the request.
type refusal struct {
	status int
	detail string
}

// Error returns the detail.
func (r *refusal) Error() string { return r.detail }

var (
	errBusy     = &refusal{http.StatusServiceUnavailable, "too many decisions under way"}
	errClosing  = &refusal{http.StatusServiceUnavailable, "the service is shutting down"}
	errRecord   = &refusal{http.StatusServiceUnavailable, "the decision could not be recorded"}
	errTooLarge = &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("a document has at most %d bytes", wire.MaxBytes)}
)

func refused(err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	return &refusal{http.StatusInternalServerError, "the decision could not be made"}
}

func (s *Service) decide(ctx context.Context, data []byte, tenant string, timeout time.Duration) (hooks.JSON, error) {
	leave, ok := s.enter(tenant)
	if !ok {
		return "", errBusy
	}
	defer leave()
	if len(data) > wire.MaxBytes {
		return "", errTooLarge
	}
	d, err := wire.Parse(data)
	if err != nil {
		return "", &refusal{http.StatusBadRequest, err.Error()}
	}
	if err := s.assign(&d.Meta, tenant); err != nil {
		return "", err
	}
	d.Meta.User = s.opts.User(ctx, d.Meta.User)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var invalid *events.InvalidError
	out, err := s.opts.Registry.DispatchDocument(ctx, d)
	switch {
	case err != nil:
		return "", &refusal{http.StatusBadRequest, err.Error()}
	case errors.As(out.RecordErr, &invalid):
		return "", &refusal{http.StatusBadRequest, "the event of this decision would be invalid: " + invalid.Error()}
	case out.RecordErr != nil:
		s.opts.Logger.ErrorContext(ctx, "decision not recorded", "point", d.Point, "run", d.Meta.Run, "error", out.RecordErr)
		return "", errRecord
	}
	answer, err := hooks.Marshal(out)
	if err != nil {
		return "", fmt.Errorf("encode outcome: %w", err)
	}
	return answer, nil
}

func (s *Service) enter(tenant string) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tenant != "" && s.deciding[tenant] >= max(s.opts.MaxOpen/2, 1) {
		return nil, false
	}
	select {
	case s.slots <- struct{}{}:
	default:
		return nil, false
	}
	s.deciding[tenant]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		<-s.slots
		if s.deciding[tenant]--; s.deciding[tenant] == 0 {
			delete(s.deciding, tenant)
		}
	}, true
}

func (s *Service) assign(m *hooks.Meta, tenant string) error {
	if tenant == "" {
		tenant = s.opts.Tenant
	}
	switch {
	case m.Tenant == "" && tenant == "":
		m.Tenant = "default"
	case m.Tenant == "":
		m.Tenant = tenant
	case tenant != "" && m.Tenant != tenant:
		return &refusal{http.StatusForbidden, "tenant: another one than may be asked for here"}
	}
	if m.Run == "" {
		m.Run = m.Session
	}
	for name, id := range map[string]string{"tenant": m.Tenant, "run": m.Run} {
		if _, err := subjects.Token(id); err != nil {
			return &refusal{http.StatusBadRequest, name + ": " + err.Error()}
		}
	}
	if err := s.opts.Admit(m.Tenant); err != nil {
		return &refusal{http.StatusForbidden, err.Error()}
	}
	return nil
}
