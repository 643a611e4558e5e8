package hooks

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Appender records events. Append keeps id, source and time of the event, and
// returns it as it was stored. It may be called concurrently.
type Appender interface {
	Append(ctx context.Context, e events.Event) (events.Event, error)
}

// Options are how a registry runs its hooks. The zero Options are valid.
type Options struct {
	Appender     Appender         // gets one event per dispatch; nil records nothing
	Source       string           // of these events; "/engine" by default
	Logger       *slog.Logger     // failures of hooks, without payloads; nil discards
	Timeout      time.Duration    // of a hook without its own; [DefaultTimeout] unless positive
	ChainTimeout time.Duration    // of all hooks of a dispatch; [DefaultChainTimeout] unless positive
	Now          func() time.Time // when a dispatch without Meta.Time happens; nil is time.Now
}

func (o Options) withDefaults() Options {
	if o.Source == "" {
		o.Source = "/engine"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.ChainTimeout <= 0 {
		o.ChainTimeout = DefaultChainTimeout
	}
	return o
}

// ID names a registered hook: "hook-" and eight hexadecimal digits.
type ID string

// Registration describes a registered hook.
type Registration struct {
	ID         ID
	Name       string
	Point      events.Kind
	Class      Class
	Priority   int
	Agent      string // the pattern of the agents it is for; "*" is every one
	Tool       string // the pattern of the tools it is for; "*" is every one
	Timeout    time.Duration
	OnFailure  FailureMode
	Async      bool
	Isolation  Isolation
	Registered time.Time
}

// Registry holds the hooks of every point and runs them. All its methods may be
// called concurrently and from inside a hook: a dispatch goes on with the hooks
// that it began with. A nil *Registry has no hooks and records nothing. Close a
// registry that is no longer used.
type Registry struct {
	opts   Options
	chains [pointCount]atomic.Pointer[chain]

	mu     sync.Mutex // guards what follows; chains are swapped under it
	hooks  []*hook    // in the order of their registration
	err    error      // registrations that were refused
	closed bool

	outstanding outstanding // executions that outlive their dispatch
	waiters     sync.Pool   // of *bench
}

// NewRegistry returns a registry without hooks.
func NewRegistry(opts Options) *Registry { return &Registry{opts: opts.withDefaults()} }

// Off removes a hook and tells whether it was there: a second call returns
// false. Dispatches that have begun still call it.
func (r *Registry) Off(id ID) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.hooks, func(h *hook) bool { return h.id == id })
	if i < 0 {
		return false
	}
	info := r.hooks[i].info
	r.hooks = slices.Delete(r.hooks, i, i+1)
	r.chains[info.index].Store(newChain(r.hooks, info))
	return true
}

// List returns the registered hooks in the order of their registration.
func (r *Registry) List() []Registration {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Registration, len(r.hooks))
	for i, h := range r.hooks {
		list[i] = h.describe()
	}
	return list
}

// Err returns why registrations were refused, joined; nil if none was. An On
// that was refused has returned an empty id.
func (r *Registry) Err() error {
	if r == nil {
		return errNoRegistry
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close refuses further hooks and waits until asynchronous and abandoned
// executions have ended, or ctx has; then the error says how many are left. The
// hooks stay: what is dispatched afterwards is decided as before, but
// asynchronous hooks are not started any more. An asynchronous hook that calls
// Close waits for itself.
func (r *Registry) Close(ctx context.Context) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	if n := r.outstanding.close(ctx); n > 0 {
		return fmt.Errorf("close registry: %d executions have not ended: %w", n, context.Cause(ctx))
	}
	return nil
}

// add registers fn at a place and returns its id.
func (r *Registry) add(info *pointInfo, fn any, opts []Option) (ID, error) {
	if r == nil {
		return "", fmt.Errorf("register hook at %s: %w", info.kind, errNoRegistry)
	}
	h := &hook{info: info, fn: fn, registered: time.Now().UTC()}
	for _, opt := range opts {
		if opt == nil {
			return "", fmt.Errorf("register hook at %s: %w", info.kind, errOption)
		}
		opt(&h.settings)
	}
	if err := h.prepare(r.opts); err != nil {
		return "", fmt.Errorf("register hook %q at %s: %w", h.name, info.kind, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return "", fmt.Errorf("register hook %q at %s: %w", h.name, info.kind, ErrClosed)
	}
	h.id = r.newID()
	r.hooks = append(r.hooks, h)
	r.chains[info.index].Store(newChain(r.hooks, info))
	return h.id, nil
}

// on is add for those who cannot be told of an error at once.
func (r *Registry) on(info *pointInfo, fn any, opts []Option) ID {
	id, err := r.add(info, fn, opts)
	if err != nil && r != nil {
		r.mu.Lock()
		r.err = errors.Join(r.err, err)
		r.mu.Unlock()
		r.opts.Logger.Error("hook not registered", "point", info.kind, "error", err)
	}
	return id
}

// newID returns an id that no hook has. r.mu is held.
func (r *Registry) newID() ID {
	for {
		var b [4]byte
		rand.Read(b[:]) // never fails
		id := ID("hook-" + hex.EncodeToString(b[:]))
		if !slices.ContainsFunc(r.hooks, func(h *hook) bool { return h.id == id }) {
			return id
		}
	}
}
