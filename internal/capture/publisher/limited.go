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

// Limit returns two appenders with the same limits. Above them, sent returns a
// [quota.ExceededError], but decided never refuses. Otherwise an agent could avoid hooks by using
// up the limits.
func Limit(to Appender, limits quota.Limits) (sent, decided Appender) {
	q := quota.New(limits)
	return limited{to: to, quotas: q, refuses: true}, limited{to: to, quotas: q}
}

// Append implements [Appender]. Duplicates do not count, so that a sender can repeat a large
// request until all events are stored.
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
