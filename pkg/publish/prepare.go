package publish

import (
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// prepare makes *e ready to be numbered, and returns it behind the blob.chunk
// events that its payload needs.
func (p *Publisher) prepare(e *events.Event) ([]*events.Event, error) {
	if e.Tenant == "" {
		e.Tenant = p.opts.Tenant
	}
	if p.opts.Tenant != "" && e.Tenant != p.opts.Tenant {
		return nil, ErrForeignTenant
	}
	if e.ID == "" {
		e.ID = events.NewID()
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	if err := p.opts.Redactor.Redact(e); err != nil {
		return nil, fmt.Errorf("redact: %w", err)
	}
	e.Producer, e.Sequence, e.Salt = p.outbox.producer(), 0, events.NewSalt()
	if err := e.Normalize(); err != nil {
		return nil, err
	}
	// The subject is built again, from the same ids, when the event is sent.
	if _, err := p.space.Event(e.Tenant, e.Producer, e.Run, e.Kind()); err != nil {
		return nil, err
	}
	return externalise(e)
}
