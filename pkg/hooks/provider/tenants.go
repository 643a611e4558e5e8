package provider

import (
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
	return &tenants{rules: rules, opts: opts, known: map[string]*hooks.Registry{}}
}

type tenants struct {
	rules func(tenant string) (any, error)
	opts  hooks.Options

	mu    sync.Mutex // guards known; held while rules makes a tenant's, so that it is made once
	known map[string]*hooks.Registry
}

// Register registers the tenants' hooks, which block when they fail.
func (t *tenants) Register(r *hooks.Registry, opts ...hooks.Option) ([]hooks.ID, error) {
	n := &nest{name: "tenants", route: func(meta hooks.Meta) ([]*hooks.Registry, error) {
		own, err := t.of(meta.Tenant)
		return []*hooks.Registry{own}, err
	}}
	return r.Use(n, append([]hooks.Option{hooks.OnFailure(hooks.Block)}, opts...)...)
}

// ErrNoTenant is why a dispatch without a tenant is denied.
const ErrNoTenant = hooks.Fault("no tenant")

// errNoRules hides the text of what rules returned from the record.
const errNoRules = hooks.Fault("tenant has no rules")

// of returns the registry of a tenant.
func (t *tenants) of(tenant string) (*hooks.Registry, error) {
	if tenant == "" {
		return nil, ErrNoTenant
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if r, ok := t.known[tenant]; ok {
		return r, nil
	}
	own, err := t.rules(tenant)
	if err != nil {
		return nil, fmt.Errorf("rules of tenant %s: %w: %w", tenant, errNoRules, err)
	}
	r := hooks.NewRegistry(t.opts)
	if own != nil {
		if _, err := r.Use(own); err != nil {
			return nil, fmt.Errorf("rules of tenant %s: %w: %w", tenant, errNoRules, err)
		}
	}
	t.known[tenant] = r
	return r, nil
}
