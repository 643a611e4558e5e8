package replay

import (
	"iter"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type history iter.Seq2[events.Event, error]

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
