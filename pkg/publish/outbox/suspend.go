package outbox

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
)

var errSuspended = errors.New("tenant is suspended")

type suspension struct {
	first     uint64 // first record to send again, 0 during a retry
	isWaiting bool   // no attempt is made before the time due
	due       time.Time
	delay     time.Duration
	err       error
}

const (
	firstSuspension = time.Second
	maxSuspension   = 15 * time.Second
)

type suspensions struct {
	backlog *waiting
	status  *status
	logger  *slog.Logger

	byTenant map[string]*suspension
	released map[string]uint64 // last released record after the cursor, by tenant
	farthest uint64            // highest ordinal that was ever read
}

func (s *suspensions) clear() {
	s.byTenant, s.released, s.farthest = map[string]*suspension{}, map[string]uint64{}, 0
	s.report()
}

func (s *suspensions) isSuspended(tenant string) bool {
	h := s.byTenant[tenant]
	return h != nil && h.isWaiting
}

func (s *suspensions) isDoubtful(tenant string) bool { return s.byTenant[tenant] != nil }

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

func (s *suspensions) report() {
	var err error
	for _, h := range s.byTenant {
		err = h.err
	}
	s.status.setSuspended(len(s.byTenant), err)
}

func (s *suspensions) retryDue(now time.Time) (found bool) {
	for _, h := range s.byTenant {
		if h.isWaiting && !h.due.After(now) {
			h.isWaiting, h.first, found = false, 0, true
		}
	}
	return found
}

func (s *suspensions) nextRetry() (next time.Time) {
	for _, h := range s.byTenant {
		if h.isWaiting && (next.IsZero() || h.due.Before(next)) {
			next = h.due
		}
	}
	return next
}

// count ignores records that were already sent, because records can be read twice.
func (s *suspensions) count(b *batch, it segment.Item) {
	if it.Ordinal > 0 && it.Ordinal <= s.released[it.Tenant] {
		return
	}
	at := cmp.Or(it.Ordinal, s.backlog.read)
	sh := b.shares[it.Tenant]
	if sh == nil {
		sh = &share{first: at}
		b.shares[it.Tenant] = sh
	}
	sh.last = max(sh.last, at)
	sh.bytes += int64(it.Size)
	if it.Ordinal > 0 {
		sh.records++
		sh.ids = append(sh.ids, it.ID)
	}
}

func (s *suspensions) settle(b *batch, lagging *laggards) (sent share, next uint64) {
	read := s.backlog.read
	for tenant, sh := range b.shares {
		if h := s.byTenant[tenant]; h != nil && h.isWaiting {
			if h.first == 0 || sh.first < h.first {
				h.first = sh.first
			}
			lagging.drop(tenant)
			continue
		}
		sent.records += sh.records
		sent.bytes += sh.bytes
		sent.ids = append(sent.ids, sh.ids...)
		s.released[tenant] = max(s.released[tenant], sh.last)
	}
	s.farthest = max(s.farthest, read)
	next = min(read+1, lagging.next())
	for tenant, h := range s.byTenant {
		switch {
		case h.first > 0:
			next = min(next, h.first)
		case !h.isWaiting && read == s.farthest && !lagging.isAmong(tenant):
			delete(s.byTenant, tenant)
			s.report()
		}
	}
	if next > read {
		clear(s.released)
	}
	return sent, next
}

func (s *suspensions) areAllWaiting() bool {
	for _, h := range s.byTenant {
		if !h.isWaiting {
			return false
		}
	}
	return len(s.byTenant) > 0
}
