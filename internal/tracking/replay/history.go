package replay

import (
	"iter"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// history is a sequence of events in the order in which they came.
type history iter.Seq2[events.Event, error]

// ofTenant leaves out the events of others; that of nobody means everybody's.
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

// seen tells who asked of each event.
func (h history) seen(tell func(events.Event)) history {
	if tell == nil {
		return h
	}
	return func(yield func(events.Event, error) bool) {
		for e, err := range h {
			if err == nil {
				tell(e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
