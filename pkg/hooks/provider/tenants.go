package provider

import (
	"context"
	"fmt"
	"sync"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Tenants returns a provider with separate rules for each tenant. It calls
// rules when it first sees a tenant. If rules fails or Meta has no tenant, the
// action is denied, and rules is called again the next time.
//
// No state, such as budgets or lockouts, is shared between tenants. The hooks
// of a tenant run in a registry with opts, which logs their failures to
// opts.Logger. Each hook has opts.Timeout, and all share the timeout of one
// outer hook.
func Tenants(rules func(tenant string) (any, error), opts hooks.Options) hooks.Registrar {
	opts.Appender = nil // the outer registry records
	return &tenants{rules: rules, opts: opts, known: map[string]*tenant{}}
}

type tenants struct {
	rules func(tenant string) (any, error)
	opts  hooks.Options

	mu    sync.Mutex // guards known; not held while rules runs
	known map[string]*tenant
}

// tenant holds the registry of a tenant. made is closed after registry and err
// are set.
type tenant struct {
	made     chan struct{}
	registry *hooks.Registry
	err      error
}

// Register registers the hooks of the tenants with the failure mode Block.
func (t *tenants) Register(r *hooks.Registry, opts ...hooks.Option) ([]hooks.ID, error) {
	n := &router{name: "tenants", route: func(ctx context.Context, meta hooks.Meta) ([]*hooks.Registry, error) {
		own, err := t.of(ctx, meta.Tenant)
		return []*hooks.Registry{own}, err
	}}
	return r.Use(n, append([]hooks.Option{hooks.OnFailure(hooks.Block)}, opts...)...)
}

// ErrNoTenant denies a dispatch without a tenant.
const ErrNoTenant = hooks.Fault("no tenant")

// errNoRules keeps the error text of rules out of the record.
const errNoRules = hooks.Fault("tenant has no rules")

// of returns a tenant's registry, and makes it for a new tenant. Concurrent
// callers wait.
func (t *tenants) of(ctx context.Context, name string) (*hooks.Registry, error) {
	if name == "" {
		return nil, ErrNoTenant
	}
	t.mu.Lock()
	own, ok := t.known[name]
	if !ok {
		own = &tenant{made: make(chan struct{}), err: errNoRules} // stays if rules panics
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

// make sets the registry or the error of own, and forgets the tenant on
// failure.
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
		own.registry, err = newInner(rules, t.opts)
	} else if err == nil {
		own.registry = hooks.NewRegistry(t.opts)
	}
	own.err = nil
	if err != nil {
		own.err = fmt.Errorf("rules of tenant %s: %w: %w", name, errNoRules, err)
	}
}
