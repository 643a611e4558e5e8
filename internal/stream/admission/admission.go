// Package admission decides which tenants a service accepts. Without a limit, one client could
// create any number of tenants, each with a ledger.
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

// DefaultTenant is the tenant of events that name none. It is always accepted.
const DefaultTenant = "default"

// DefaultLimit is the value of [Options.Limit] in the commands.
const DefaultLimit = 64

const knownInterval = time.Second

// ErrTenant means that a tenant is not accepted.
var ErrTenant = errors.New("unknown tenant")

// Options configures a [Policy].
type Options struct {
	// Limit is the maximum number of accepted tenants that have no key or token.
	Limit int

	// Known returns all tenants that have a key or token. If it also returns an error, the tenants
	// are those that could be read. Known is called at most once a second.
	Known func() ([]string, error)

	// Present lists the tenants that the service already has. They are always accepted, but those
	// without a key or token count towards Limit.
	Present []string

	Now func() time.Time // time.Now by default
}

// Policy accepts the tenants in Options.Known and Options.Present, and a limited number of others.
// An accepted tenant stays accepted. A nil Policy accepts every tenant. It is safe for concurrent
// use.
type Policy struct {
	opts Options

	mu       sync.Mutex // guards the other fields
	accepted map[string]bool
	unknown  map[string]bool // accepted tenants that count towards the limit
	known    []string
	unread   error // last error of Known
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

// The caller must hold p.mu.
func (p *Policy) accept(tenant string) {
	if !p.accepted[tenant] && !slices.Contains(p.known, tenant) {
		p.unknown[tenant] = true
	}
	p.accepted[tenant] = true
}

// The caller must hold p.mu.
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

// Fingerprint returns a hash of the limit and the known tenants. Compare two hashes to detect a
// change.
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

// Admit returns nil if the tenant is accepted. Otherwise the error wraps [ErrTenant] and says how
// to add the tenant.
func (p *Policy) Admit(tenant string) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.accepted[tenant] {
		return nil
	}
	if p.opts.Now().Sub(p.checked) >= knownInterval {
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

func clip(tenant string) string {
	const most = 80
	if len(tenant) <= most {
		return tenant
	}
	return tenant[:most] + "…"
}
