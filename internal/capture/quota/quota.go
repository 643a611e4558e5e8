// Package quota limits how much each tenant sends to a publisher.
//
// A tenant may send a number of events, of bytes and of new runs per second. After a pause, it may
// exceed these limits for a moment, up to the amount that [Limits.Burst] allows. Memory use is
// bounded.
package quota

import (
	"fmt"
	"hash/maphash"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits are the limits of each tenant per second. 0 means no limit.
type Limits struct {
	Events, Bytes, Runs float64
	Burst               time.Duration  // time whose limits a tenant may use at once; at least 1 s
	Factors             map[string]int // by tenant, multiply its limits; 0 removes them
}

const (
	flagEvents = "rate-limit"
	flagBytes  = "rate-bytes"
	flagRuns   = "rate-runs"
	flagBurst  = "rate-burst"
	flagFactor = "rate-factor"
)

// Default returns limits that are far higher than the usual load of a tenant.
func Default() Limits {
	return Limits{Events: 5000, Bytes: 16 << 20, Runs: 500, Burst: 5 * time.Second}
}

// Validate returns an error that names the flag of the first invalid limit.
func (l Limits) Validate() error {
	for flag, value := range map[string]float64{flagEvents: l.Events, flagBytes: l.Bytes, flagRuns: l.Runs, flagBurst: l.Burst.Seconds()} {
		if !(value >= 0) {
			return fmt.Errorf("--%s: must not be negative", flag)
		}
	}
	for tenant, factor := range l.Factors {
		if factor < 0 {
			return fmt.Errorf("--%s %s=%d: must not be negative", flagFactor, tenant, factor)
		}
	}
	return nil
}

const (
	maxTenants = 1024            // tenants with separate limits
	maxRuns    = 4096            // minimum of remembered runs of each tenant
	sweepPause = time.Second     // between two searches for idle tenants
	idle       = 5 * time.Minute // with too many tenants, a tenant is forgotten after this time
)

// Quotas measures how much each tenant sends. A nil *Quotas has no limits. The methods are safe for
// concurrent use.
type Quotas struct {
	limits Limits
	seed   maphash.Seed

	mu      sync.Mutex // guards the other fields
	tenants map[string]*tenant
	others  *tenant // shared by all tenants beyond maxTenants
	swept   time.Time
}

type tenant struct {
	events, bytes, runs *rate.Limiter
	latest, older       map[uint64]struct{} // runs
	used                time.Time
}

// New returns Quotas with the given limits.
func New(limits Limits) *Quotas {
	q := &Quotas{limits: limits, seed: maphash.MakeSeed(), tenants: map[string]*tenant{}}
	q.others = q.newTenant("")
	return q
}

func (q *Quotas) newTenant(name string) *tenant {
	factor, ok := q.limits.Factors[name]
	if !ok {
		factor = 1
	}
	limiter := func(perSecond float64) *rate.Limiter {
		if perSecond *= float64(factor); perSecond > 0 {
			return rate.NewLimiter(rate.Limit(perSecond), int(math.Ceil(max(perSecond*max(q.limits.Burst.Seconds(), 1), 1))))
		}
		return rate.NewLimiter(rate.Inf, 0)
	}
	return &tenant{events: limiter(q.limits.Events), bytes: limiter(q.limits.Bytes), runs: limiter(q.limits.Runs), latest: map[uint64]struct{}{}}
}

// of returns the state of a tenant. All tenants beyond maxTenants share one state. The caller must
// hold q.mu.
func (q *Quotas) of(name string, now time.Time) *tenant {
	t := q.tenants[name]
	if t == nil && len(q.tenants) >= maxTenants && now.Sub(q.swept) >= sweepPause {
		q.swept = now
		for name, t := range q.tenants {
			if now.Sub(t.used) > max(idle, q.limits.Burst) {
				delete(q.tenants, name)
			}
		}
	}
	switch {
	case t != nil:
	case len(q.tenants) >= maxTenants:
		t = q.others
	default:
		t = q.newTenant(name)
		q.tenants[name] = t
	}
	t.used = now
	return t
}

// Check returns an [ExceededError] if the tenant must wait before it sends an event of this run.
// run is empty for an event without a run.
func (q *Quotas) Check(name, run string) error {
	if q == nil {
		return nil
	}
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.of(name, now)
	if wait := until(t.events, now); wait > 0 {
		return &ExceededError{Tenant: name, Limit: "events", Flag: flagEvents, PerSecond: float64(t.events.Limit()), RetryAfter: wait}
	}
	if wait := until(t.bytes, now); wait > 0 {
		return &ExceededError{Tenant: name, Limit: "bytes", Flag: flagBytes, PerSecond: float64(t.bytes.Limit()), RetryAfter: wait}
	}
	if wait := until(t.runs, now); wait > 0 && run != "" && !t.has(q.hash(run)) {
		return &ExceededError{Tenant: name, Limit: "new runs", Flag: flagRuns, PerSecond: float64(t.runs.Limit()), RetryAfter: wait}
	}
	return nil
}

// Charge counts a stored event of a tenant towards the limits. Above a limit, [Quotas.Check] makes
// the tenant wait.
func (q *Quotas) Charge(name, run string, bytes int) {
	if q == nil {
		return
	}
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.of(name, now)
	charge(t.events, now, 1)
	charge(t.bytes, now, bytes)
	if run != "" && t.add(q.hash(run)) {
		charge(t.runs, now, 1)
	}
}

// ChargeBytes counts bytes that a tenant sent and that contained no event.
func (q *Quotas) ChargeBytes(name string, bytes int) {
	if q == nil {
		return
	}
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	charge(q.of(name, now).bytes, now, bytes)
}

func (q *Quotas) hash(run string) uint64 { return maphash.String(q.seed, run) }

func (t *tenant) has(run uint64) bool {
	_, isLatest := t.latest[run]
	_, isOlder := t.older[run]
	return isLatest || isOlder
}

func (t *tenant) add(run uint64) bool {
	isNew := !t.has(run)
	if len(t.latest) >= maxRuns {
		t.latest, t.older = map[uint64]struct{}{}, t.latest
	}
	t.latest[run] = struct{}{}
	return isNew
}

func until(l *rate.Limiter, now time.Time) time.Duration {
	if l.Limit() == rate.Inf || l.TokensAt(now) >= 1 {
		return 0
	}
	return time.Duration((1 - l.TokensAt(now)) / float64(l.Limit()) * float64(time.Second))
}

func charge(l *rate.Limiter, now time.Time, n int) {
	if l.Limit() != rate.Inf {
		l.ReserveN(now, min(n, l.Burst()))
	}
}

// ExceededError is the error for an event above a limit.
type ExceededError struct {
	Tenant     string
	Limit      string // "events", "bytes" or "new runs"
	Flag       string // name of the flag that changes the limit
	PerSecond  float64
	RetryAfter time.Duration
}

// Error names the limit and its flag.
func (e *ExceededError) Error() string {
	return fmt.Sprintf("tenant %q sends more than %s %s per second (--%s); retry after the time in Retry-After",
		e.Tenant, strconv.FormatFloat(e.PerSecond, 'f', -1, 64), e.Limit, e.Flag)
}

// SetRetryAfter sets the header Retry-After, which says when the tenant may send again.
func (e *ExceededError) SetRetryAfter(header http.Header) {
	header.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(e.RetryAfter.Seconds())))))
}
