package publisher

import (
	"context"
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
	"github.com/hooktrail/hooktrail/pkg/redact"
)

// recordTime bounds how long an event may take to be recorded. The agent waits.
const recordTime = 2 * time.Second

// record brings events to a publisher elsewhere, if there is one, else into the
// outbox of the data directory, from where the publisher that serves it, now or
// later, takes them. Events of this machine have this one way only, so that each
// comes once, whoever is killed meanwhile. It goes on after ctx has ended: what
// happened has happened.
func (h *hook) record(ctx context.Context, list []events.Event) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	if h.publisher != "" && !h.away {
		err := h.send(ctx, list)
		if err == nil {
			return nil
		}
		// It may have them all the same: with the same ids, they count once.
		h.problem(fmt.Errorf("events stay here: %w", err))
	}
	opts := publish.SharedOptions{Tenant: h.tenantOr(), Full: publish.Fail, Redactor: h.redaction.Redactor()}
	if opts.Redactor == nil {
		r, err := redact.New(redact.Options{})
		if err != nil {
			return fmt.Errorf("record: %w", err)
		}
		opts.Redactor = r
	}
	if _, err := publish.AppendShared(ctx, outboxDir(h.dataDir, "shared"), opts, list...); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// send posts events to the publisher elsewhere. Whose they are is said by its
// token unless a tenant was named.
func (h *hook) send(ctx context.Context, list []events.Event) error {
	body := []byte{'['}
	for i, e := range list {
		if e.Tenant = h.tenant; i > 0 {
			body = append(body, ',')
		}
		body = e.Append(body)
	}
	_, err := h.post(ctx, "/v1/events", "application/cloudevents-batch+json", append(body, ']'), answerSoon)
	return err
}
