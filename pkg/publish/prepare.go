package publish

import (
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// prepare makes *e ready to be numbered under a producer id, and returns it
// behind the blob.chunk events that its payload needs.
func prepare(opts Options, producer string, e *events.Event) ([]*events.Event, error) {
	if e.Tenant == "" {
		e.Tenant = opts.Tenant
	}
	if opts.Tenant != "" && e.Tenant != opts.Tenant {
		return nil, ErrForeignTenant
	}
	if e.ID == "" {
		e.ID = events.NewID()
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	if err := opts.Redactor.Redact(e); err != nil {
		return nil, fmt.Errorf("redact: %w", err)
	}
	e.Producer, e.Sequence, e.Salt = producer, 0, events.NewSalt()
	if err := e.Normalize(); err != nil {
		return nil, err
	}
	// The subject is built again, from the same ids, when the event is sent.
	if _, err := opts.space().Event(e.Tenant, e.Producer, e.Run, e.Kind()); err != nil {
		return nil, err
	}
	return externalise(e)
}
