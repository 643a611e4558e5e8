package provider

import (
	"context"
	"fmt"
	"sync"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Tenants returns a provider that uses a separate provider for each tenant. It calls rules to
// create the provider of a tenant, at the first action of that tenant. If rules fails, or if an
// action has no tenant, the action is denied. After a failure, the next action calls rules again.
//
// Tenants share no state such as budgets or lockouts. The outer registry has only one hook per
// point for all hooks of a tenant, so these hooks share one timeout.
func Tenants(rules func(tenant string) (any, error), opts hooks.Options) hooks.Registrar {
	opts.Appender = nil // the outer registry records the events
	return &tenants{rules: rules, opts: opts, known: map[string]*tenant{}}
}

type tenants struct {
	rules func(tenant string) (any, error)
	opts  hooks.Options

	mu    sync.Mutex // guards known, and is not locked while rules runs
	known map[string]*tenant
}

// The channel made is closed when registry and err are set.
type tenant struct {
	made     chan struct{}
	registry *hooks.Registry
	err      error
}

// Register registers one hook at each point, which calls the hooks of the tenant. The failure mode
// is Block. If the hooks of a tenant cannot be loaded, its actions are therefore denied.
func (t *tenants) Register(r *hooks.Registry, opts ...hooks.Option) ([]hooks.ID, error) {
	n := &router{name: "tenants", route: func(ctx context.Context, meta hooks.Meta) ([]*hooks.Registry, error) {
		own, err := t.of(ctx, meta.Tenant)
		return []*hooks.Registry{own}, err
	}}
	return r.Use(n, append([]hooks.Option{hooks.OnFailure(hooks.Block)}, opts...)...)
}

// ErrNoTenant is the reason for denying a dispatch without a tenant.
const ErrNoTenant = hooks.Fault("no tenant")

// errNoRules is recorded instead of an error of the function rules, because that error may contain
// sensitive data.
const errNoRules = hooks.Fault("tenant has no rules")

func (t *tenants) of(ctx context.Context, name string) (*hooks.Registry, error) {
	if name == "" {
		return nil, ErrNoTenant
	}
	t.mu.Lock()
	own, ok := t.known[name]
	if !ok {
		own = &tenant{made: make(chan struct{}), err: errNoRules} // this error stays if rules panics
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
