package publisher

import (
	"context"
	"errors"

	"github.com/hooktrail/hooktrail/internal/capture/quota"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

type limited struct {
	to      Appender
	quotas  *quota.Quotas
	refuses bool
}

// Limit returns two Appenders that share the same limits. sent refuses an event above a limit with
// a [quota.ExceededError].
//
// decided is for events with the decision of a hook. It never refuses an event, because an agent
// could otherwise avoid the hooks by sending many events.
func Limit(to Appender, limits quota.Limits) (sent, decided Appender) {
	q := quota.New(limits)
	return limited{to: to, quotas: q, refuses: true}, limited{to: to, quotas: q}
}

// Append implements [Appender]. A duplicate does not count towards the limits. A sender can
// therefore repeat a large request until all its events are stored.
func (l limited) Append(ctx context.Context, e events.Event) (events.Event, error) {
	tenant := orDefault(e.Tenant)
	if l.refuses {
		if err := l.quotas.Check(tenant, e.Run); err != nil {
			return events.Event{}, err
		}
	}
	stored, err := l.to.Append(ctx, e)
	if err == nil || errors.Is(err, publish.ErrShed) {
		l.quotas.Charge(tenant, e.Run, len(e.Data)+len(e.Binary))
	}
	return stored, err
}

type bodyLimiter interface {
	checkBody(tenant string) error
	chargeBody(tenant string, bytes int)
}

func (l limited) checkBody(tenant string) error {
	if !l.refuses {
		return nil
	}
	return l.quotas.Check(tenant, "")
}

func (l limited) chargeBody(tenant string, bytes int) { l.quotas.ChargeBytes(tenant, bytes) }

func (h *handler) checkBody(tenant string) error {
	if h.bodies == nil {
		return nil
	}
	return h.bodies.checkBody(tenant)
}

func (h *handler) chargeBody(tenant string, bytes int) {
	if h.bodies != nil && bytes > 0 {
		h.bodies.chargeBody(tenant, bytes)
	}
}
