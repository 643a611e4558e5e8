package publisher

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// rates bounds how many events each tenant may send in a second. A request is
// one; what a batch holds beyond that is taken too, and has to be waited for
// before the next request.
type rates struct {
	limit rate.Limit // 0: no bound

	mu       sync.Mutex // guards limiters
	limiters map[string]*rate.Limiter
}

func newRates(perSecond float64) *rates {
	return &rates{limit: rate.Limit(perSecond), limiters: map[string]*rate.Limiter{}}
}

// of returns the limiter of a tenant. There are as many as tenants have tokens.
func (r *rates) of(tenant string) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.limiters[tenant]
	if !ok {
		l = rate.NewLimiter(r.limit, max(1, int(math.Ceil(float64(r.limit)))))
		r.limiters[tenant] = l
	}
	return l
}

// limiterKey is the key of the charge in the context of a request.
type limiterKey struct{}

// charge counts one event of the request. The first was counted when the request
// was let in.
func charge(ctx context.Context) {
	if c, ok := ctx.Value(limiterKey{}).(*charged); ok {
		if c.events++; c.events > 1 {
			c.limiter.ReserveN(time.Now(), 1)
		}
	}
}

// charged counts the events of one request.
type charged struct {
	limiter *rate.Limiter
	events  int
}

// metered refuses requests of tenants that have sent too much.
func (h *handler) metered(next http.HandlerFunc) http.HandlerFunc {
	if h.rates.limit <= 0 {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) {
		limiter := h.rates.of(TenantOf(r.Context()))
		now := time.Now()
		turn := limiter.ReserveN(now, 1)
		if wait := turn.DelayFrom(now); wait > 0 {
			turn.CancelAt(now)
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
			h.refuse(w, r, problem{Status: http.StatusTooManyRequests, Detail: "more events than are taken of a tenant"}, nil)
			return
		}
		next(w, r.WithContext(context.WithValue(r.Context(), limiterKey{}, &charged{limiter: limiter})))
	}
}
