package replay

import (
	"iter"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type history iter.Seq2[events.Event, error]

// ofTenant returns h without the events of other tenants. If tenant is empty, it returns h
// unchanged.
func (h history) ofTenant(tenant string) history {
	if tenant == "" {
		return h
	}
	return func(yield func(events.Event, error) bool) {
		for e, err := range h {
			if err == nil && e.Tenant != tenant {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// observed returns a history that calls observe with each event before it yields the event. If
// observe is nil, it returns h unchanged.
func (h history) observed(observe func(events.Event)) history {
	if observe == nil {
		return h
	}
	return func(yield func(events.Event, error) bool) {
		for e, err := range h {
			if err == nil {
				observe(e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
