package provider

import (
	"context"
	"fmt"
	"sync"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Tenants returns a provider with rules of each tenant's own: rules is called
// once per tenant, when it is first seen, and returns its provider. Where rules
// fails, or there is no tenant, what is asked about is denied, and rules is asked
// again the next time.
//
// What one tenant's provider keeps, such as a budget or who is locked out,
// another's never sees. Its hooks run in a registry with opts, to whose Logger
// their failures go; they have opts.Timeout each and the time of one hook of the
// outer registry together.
func Tenants(rules func(tenant string) (any, error), opts hooks.Options) hooks.Registrar {
	opts.Appender = nil // the outer registry records
	return &tenants{rules: rules, opts: opts, known: map[string]*tenant{}}
}

type tenants struct {
	rules func(tenant string) (any, error)
	opts  hooks.Options

	mu    sync.Mutex // guards known
	known map[string]*tenant
}

// tenant is one whose rules are there, or being made by the first who asked. What
// follows made is set before that is closed.
type tenant struct {
	made     chan struct{}
	registry *hooks.Registry
	err      error
}

// Register registers the tenants' hooks, which block when they fail.
func (t *tenants) Register(r *hooks.Registry, opts ...hooks.Option) ([]hooks.ID, error) {
	n := &nest{name: "tenants", route: func(ctx context.Context, meta hooks.Meta) ([]*hooks.Registry, error) {
		own, err := t.of(ctx, meta.Tenant)
		return []*hooks.Registry{own}, err
	}}
	return r.Use(n, append([]hooks.Option{hooks.OnFailure(hooks.Block)}, opts...)...)
}

// ErrNoTenant is why a dispatch without a tenant is denied.
const ErrNoTenant = hooks.Fault("no tenant")

// errNoRules hides the text of what rules returned from the record.
const errNoRules = hooks.Fault("tenant has no rules")

// of returns the registry of a tenant. Who comes while its rules are being made
// waits for them, and no longer than ctx.
func (t *tenants) of(ctx context.Context, name string) (*hooks.Registry, error) {
	if name == "" {
		return nil, ErrNoTenant
	}
	t.mu.Lock()
	own, ok := t.known[name]
	if !ok {
		own = &tenant{made: make(chan struct{}), err: errNoRules} // of rules that panic
		t.known[name] = own
	}
	t.mu.Unlock()
	if !ok {
		t.make(name, own)
	}
	select {
	case <-own.made:
		return own.registry, own.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// make makes the rules of a tenant, which is forgotten if that fails.
func (t *tenants) make(name string, own *tenant) {
	defer func() {
		if own.err != nil {
			t.mu.Lock()
			delete(t.known, name)
			t.mu.Unlock()
		}
		close(own.made)
	}()
	rules, err := t.rules(name)
	if err == nil && rules != nil {
		own.registry, err = nested(rules, t.opts)
	} else if err == nil {
		own.registry = hooks.NewRegistry(t.opts)
	}
	own.err = nil
	if err != nil {
		own.err = fmt.Errorf("rules of tenant %s: %w: %w", name, errNoRules, err)
	}
}
