// Package admission decides which tenants a service accepts. Whoever may name any tenant
// in an event could otherwise create ledgers without a limit.
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

// DefaultTenant is the tenant of events that name none. It is always known.
const DefaultTenant = "default"

// DefaultLimit is the default of Options.Limit.
const DefaultLimit = 64

// recheck is how often unknown tenants are looked up again.
const recheck = time.Second

// ErrTenant is wrapped by the error for a tenant that is not accepted.
var ErrTenant = errors.New("unknown tenant")

// Options configure a [Policy].
type Options struct {
	// Limit is the number of tenants that a service accepts although they are not known.
	Limit int

	// Known returns the tenants with a key or a token, with an error all that it could
	// read. It may be called again for an unknown tenant, at most once a second.
	Known func() ([]string, error)

	// Present are the tenants that the service already has. It accepts them, and those
	// that are not known count towards Limit.
	Present []string

	Now func() time.Time // time.Now by default
}

// Policy accepts the tenants that are known or present, and others up to a limit. It never
// forgets an accepted tenant. A nil Policy accepts every tenant. Its methods may be called
// concurrently.
type Policy struct {
	opts Options

	mu       sync.Mutex // guards the other fields
	accepted map[string]bool
	unknown  map[string]bool // accepted ones that count towards the limit
	known    []string
	unread   error // of the last call of Known
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

// accept counts an accepted tenant that is not known. The caller holds p.mu.
func (p *Policy) accept(tenant string) {
	if !p.accepted[tenant] && !slices.Contains(p.known, tenant) {
		p.unknown[tenant] = true
	}
	p.accepted[tenant] = true
}

// refresh reads the known tenants. The caller holds p.mu.
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

// Fingerprint returns a text that changes with the limit and the known tenants.
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

// Admit returns an error that wraps [ErrTenant] and names the remedy if the tenant is not
// accepted. It accepts a new tenant while there are fewer than the limit.
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

// clip shortens a hostile id. An id has at most 256 bytes elsewhere.
func clip(tenant string) string {
	const most = 80
	if len(tenant) <= most {
		return tenant
	}
	return tenant[:most] + "…"
}
