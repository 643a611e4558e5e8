package publish

import (
	"errors"
	"log/slog"
	"time"

	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
)

// errSuspended says that the events of a tenant stay in the outbox for now.
var errSuspended = errors.New("tenant is suspended")

// suspension describes a tenant whose events the stream does not take at present,
// for example for want of a permission.
type suspension struct {
	first     uint64 // ordinal of the first record that stays; 0 while the tenant is retried
	isWaiting bool   // until due
	due       time.Time
	delay     time.Duration
	err       error
}

const (
	firstSuspension = time.Second
	maxSuspension   = 15 * time.Second
)

// suspensions has the suspended tenants. Their records stay where they are, and
// the cursor stays in front of them, while records of other tenants behind them
// are sent. When a tenant is due, reading begins again at the cursor.
type suspensions struct {
	backlog *waiting
	status  *status
	logger  *slog.Logger

	byTenant map[string]*suspension
	released uint64 // ordinal up to which the records of all other tenants are released
}

func (s *suspensions) clear() {
	s.byTenant, s.released = map[string]*suspension{}, 0
	s.report()
}

// isSuspended reports whether the events of a tenant are not to be sent now.
func (s *suspensions) isSuspended(tenant string) bool {
	h := s.byTenant[tenant]
	return h != nil && h.isWaiting
}

// isDoubtful reports whether a tenant is suspended or is retried after a
// suspension.
func (s *suspensions) isDoubtful(tenant string) bool { return s.byTenant[tenant] != nil }

// suspend suspends a tenant, each time for twice as long.
func (s *suspensions) suspend(tenant string, cause error) {
	h := s.byTenant[tenant]
	if h == nil {
		h = &suspension{}
		s.byTenant[tenant] = h
		s.logger.Warn("tenant suspended, the stream does not take its events", "tenant", tenant, "error", cause)
	}
	h.delay = min(max(2*h.delay, firstSuspension), maxSuspension)
	h.isWaiting, h.due, h.err = true, time.Now().Add(h.delay), cause
	s.report()
}

// report passes the number of suspended tenants to the status.
func (s *suspensions) report() {
	var err error
	for _, h := range s.byTenant {
		err = h.err
	}
	s.status.setSuspended(len(s.byTenant), err)
}

// retryDue ends the wait of the tenants that are due, and reports whether there
// are any.
func (s *suspensions) retryDue(now time.Time) (found bool) {
	for _, h := range s.byTenant {
		if h.isWaiting && !h.due.After(now) {
			h.isWaiting, h.first, found = false, 0, true
		}
	}
	return found
}

// nextRetry returns when the next tenant is due, or zero.
func (s *suspensions) nextRetry() (next time.Time) {
	for _, h := range s.byTenant {
		if h.isWaiting && (next.IsZero() || h.due.Before(next)) {
			next = h.due
		}
	}
	return next
}

// count adds an item to its tenant's share of b. A record that is read again for
// the sake of a suspended tenant, and that was released before, does not count.
func (s *suspensions) count(b *batch, it segment.Item) {
	if it.Ordinal > 0 && it.Ordinal <= s.released && s.byTenant[it.Tenant] == nil {
		return
	}
	sh := b.shares[it.Tenant]
	if sh == nil {
		sh = &share{first: max(it.Ordinal, s.backlog.read)}
		b.shares[it.Tenant] = sh
	}
	sh.bytes += int64(it.Size)
	if it.Ordinal > 0 {
		sh.records++
		sh.ids = append(sh.ids, it.ID)
	}
}

// settle returns the share of a delivered batch that can leave the outbox, and
// the new position of the cursor.
func (s *suspensions) settle(b *batch) (sent share, next uint64) {
	read := s.backlog.read
	for tenant, sh := range b.shares {
		if h := s.byTenant[tenant]; h != nil && h.isWaiting {
			if h.first == 0 || sh.first < h.first {
				h.first = sh.first
			}
			continue
		}
		sent.records += sh.records
		sent.bytes += sh.bytes
		sent.ids = append(sent.ids, sh.ids...)
	}
	s.released = max(s.released, read)
	next = read + 1
	for tenant, h := range s.byTenant {
		switch {
		case h.first > 0:
			next = min(next, h.first)
		case !h.isWaiting && read == s.released:
			delete(s.byTenant, tenant) // all its records were delivered
			s.report()
		}
	}
	return sent, next
}

// areAllWaiting reports whether tenants are suspended and none of them is being
// retried.
func (s *suspensions) areAllWaiting() bool {
	for _, h := range s.byTenant {
		if !h.isWaiting {
			return false
		}
	}
	return len(s.byTenant) > 0
}
