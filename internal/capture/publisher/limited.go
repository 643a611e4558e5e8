package publisher

import (
	"context"
	"errors"

	"github.com/hooktrail/hooktrail/internal/capture/quota"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// limited is an [Appender] with limits for each tenant.
type limited struct {
	to      Appender
	quotas  *quota.Quotas
	refuses bool
}

// Limit returns two appenders with the same limits for each tenant. The first one is for
// events, and returns a [quota.ExceededError] for a tenant above them. The second one is
// for hooks and decisions, and only counts. Otherwise an agent could send too much, and
// its next calls would be neither decided nor recorded.
func Limit(to Appender, limits quota.Limits) (sent, decided Appender) {
	q := quota.New(limits)
	return limited{to: to, quotas: q, refuses: true}, limited{to: to, quotas: q}
}

// Append implements [Appender]. It does not charge duplicates, so that a sender that
// repeats a request of many events comes to its end.
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
