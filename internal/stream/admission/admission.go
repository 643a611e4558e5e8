// Package admission decides which tenants a service accepts. Without a limit, a client that may
// name any tenant in an event could create any number of ledgers.
package admission

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// DefaultTenant is the tenant of events that name no tenant. It is always accepted.
const DefaultTenant = "default"

// DefaultLimit is the limit that commands use by default for [Options].Limit.
const DefaultLimit = 64

// recheck is the minimum time between two calls of Options.Known.
const recheck = time.Second

// ErrTenant is wrapped by the error for a tenant that is not accepted.
var ErrTenant = errors.New("unknown tenant")

// Options configures a [Policy].
type Options struct {
	// Limit is the largest number of tenants that a service accepts without a key or a token.
	Limit int

	// Known returns the tenants that have a key or a token. If it returns an error, it must also
	// return the tenants that it could read. For an unknown tenant, the policy calls Known again,
	// at most once a second.
	Known func() ([]string, error)

	// Present lists the tenants that the service already has. The policy accepts all of them. Those
	// without a key or token count towards Limit.
	Present []string

	Now func() time.Time // time.Now by default
}

// Policy accepts known and present tenants, and other tenants up to a limit. Once it has accepted a
// tenant, it always accepts that tenant. A nil Policy accepts every tenant. Its methods may be
// called concurrently.
type Policy struct {
	opts Options

	mu       sync.Mutex // guards the other fields
	accepted map[string]bool
	unknown  map[string]bool // accepted tenants that count towards the limit
	known    []string
	unread   error // error of the last call of Known
	checked  time.Time
}

// New returns a policy.
func New(opts Options) *Policy {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	p := &Policy{opts: opts, accepted: map[string]bool{DefaultTenant: true}, unknown: map[string]bool{}}
	p.refresh()
	for _, tenant := range opts.Present {
		p.accept(tenant)
	}
	return p
}

// accept adds tenant to the accepted ones. If tenant is not known, it counts towards the limit. The
// caller must hold p.mu.
func (p *Policy) accept(tenant string) {
	if !p.accepted[tenant] && !slices.Contains(p.known, tenant) {
		p.unknown[tenant] = true
	}
	p.accepted[tenant] = true
}

// refresh reads the known tenants again. The caller must hold p.mu.
func (p *Policy) refresh() {
	p.checked = p.opts.Now()
	if p.opts.Known == nil {
		return
	}
	p.known, p.unread = p.opts.Known()
	for _, tenant := range p.known {
		p.accepted[tenant] = true
		delete(p.unknown, tenant)
	}
}

// Fingerprint returns a text that is different for another limit or other known tenants.
func (p *Policy) Fingerprint() string {
	if p == nil {
		return "all"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	tenants := slices.Compact(slices.Sorted(slices.Values(p.known)))
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %q", p.opts.Limit, tenants))
	return hex.EncodeToString(sum[:])
}

// Admit returns nil if tenant is accepted. It accepts an unknown tenant as long as the limit is not
// reached. Otherwise it returns an error that wraps [ErrTenant] and names the remedy.
func (p *Policy) Admit(tenant string) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.accepted[tenant] {
		return nil
	}
	if p.opts.Now().Sub(p.checked) >= recheck {
		p.refresh()
	}
	if p.accepted[tenant] {
		return nil
	}
	if len(p.unknown) < p.opts.Limit {
		p.accept(tenant)
		return nil
	}
	err := fmt.Errorf("%w %q: no more than %d tenants without a key or token are accepted; make it known with hooktrail tenant add "+
		"or publisher token create, or use --new-tenants or --open-tenants", ErrTenant, clip(tenant), p.opts.Limit)
	return errors.Join(err, p.unread)
}

// clip shortens an id for an error text. The id can be very long, because a client chooses it.
func clip(tenant string) string {
	const most = 80
	if len(tenant) <= most {
		return tenant
	}
	return tenant[:most] + "…"
}
