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

// Appender records events. Append stores an event without changing its id, source and time, and
// returns the stored event. It must be safe for concurrent use.
type Appender interface {
	Append(ctx context.Context, e events.Event) (events.Event, error)
}

// Options configures a [Registry]. The zero Options are valid.
type Options struct {
	Appender     Appender         // gets one event for each dispatch. If nil, nothing is recorded
	Source       string           // source of the recorded events, default "/engine"
	Logger       *slog.Logger     // logs failures of hooks, nil to discard them
	Timeout      time.Duration    // for hooks without a timeout, [DefaultTimeout] unless positive
	ChainTimeout time.Duration    // for a whole dispatch, [DefaultChainTimeout] unless positive
	OnFailure    FailureMode      // for hooks without OnFailure at points whose default is Warn
	Now          func() time.Time // time of a dispatch without Meta.Time, default time.Now
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

func (o Options) failureMode(info *pointInfo, async bool) FailureMode {
	switch {
	case info.blocks || o.OnFailure > Ignore:
		return Block
	case o.OnFailure == 0 || o.OnFailure == Block && async:
		return Warn
	}
	return o.OnFailure
}

// ID is the id of a registered hook, "hook-" and eight hexadecimal digits.
type ID string

// Registration describes a registered hook.
type Registration struct {
	ID         ID
	Name       string
	Point      events.Kind
	Class      Class
	Priority   int
	Agent      string // pattern of agents, "*" for every agent
	Tool       string // pattern of tools, "*" for every tool
	Timeout    time.Duration
	OnFailure  FailureMode
	Async      bool
	Isolation  Isolation
	Last       bool
	Registered time.Time
}

// Registry contains the hooks of every point and runs them. A nil *Registry has no hooks and
// records nothing. Close must be called after use.
type Registry struct {
	opts   Options
	chains [pointCount]atomic.Pointer[chain]

	// mu guards hooks, err and closed. Changes of chains also require mu, but reads of chains do
	// not. No other lock is taken while mu is locked.
	mu     sync.Mutex
	hooks  []*hook
	err    error // errors of failed calls of On, joined
	closed bool

	outstanding outstanding
	waiters     sync.Pool // of *waiter
}

// NewRegistry returns a registry without hooks.
func NewRegistry(opts Options) *Registry { return &Registry{opts: opts.withDefaults()} }

// Off removes the hook with this id. It returns false if there is none.
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

// List returns the registered hooks in the order of registration.
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

// Err returns the joined errors of all calls of On, or nil.
func (r *Registry) Err() error {
	if r == nil {
		return errNoRegistry
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close rejects new registrations and waits until all asynchronous and abandoned executions have
// ended. If ctx ends first, the error contains the number that still runs. Later dispatches skip
// asynchronous hooks. An asynchronous hook must not call Close.
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

// The caller of newID must hold r.mu.
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
