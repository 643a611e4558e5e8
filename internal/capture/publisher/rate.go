package publisher

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/hooktrail/hooktrail/internal/capture/problem"
)

// rates limits the events per second of each tenant. A request needs room for one event.
// The other events of a batch delay the next request.
type rates struct {
	limit rate.Limit // 0: no limit

	mu       sync.Mutex // guards limiters
	limiters map[string]*rate.Limiter
}

func newRates(perSecond float64) *rates {
	return &rates{limit: rate.Limit(perSecond), limiters: map[string]*rate.Limiter{}}
}

// of returns the limiter of a tenant. Only tenants with a token have one.
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

type chargeKey struct{}

// charge counts one event of the request. rateLimited counts the first one.
func charge(ctx context.Context) {
	if c, ok := ctx.Value(chargeKey{}).(*charged); ok {
		if c.events++; c.events > 1 {
			c.limiter.ReserveN(time.Now(), 1)
		}
	}
}

type charged struct {
	limiter *rate.Limiter
	events  int
}

func (h *handler) rateLimited(next http.HandlerFunc) http.HandlerFunc {
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
			h.refuse(w, r, problem.Problem{Status: http.StatusTooManyRequests, Detail: "more events than are taken of a tenant"}, nil)
			return
		}
		next(w, r.WithContext(context.WithValue(r.Context(), chargeKey{}, &charged{limiter: limiter})))
	}
}
