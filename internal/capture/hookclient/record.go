package hookclient

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
	"github.com/hooktrail/hooktrail/pkg/redact"
)

// recordTime bounds how long the outbox may take to be had. The agent waits.
const recordTime = 500 * time.Millisecond

// SharedOutbox returns the outbox of a data directory that short-lived processes
// append to, from where its publisher forwards.
func SharedOutbox(dataDir string) string { return filepath.Join(dataDir, "outbox", "shared") }

// record redacts events and brings them to a publisher elsewhere, if there is
// one, else into the outbox of the data directory, from where the publisher that
// serves it, now or later, takes them. Events of this machine have this one way
// only, so that each comes once, whoever is killed meanwhile. It goes on after
// ctx has ended: what happened has happened.
func (h *hook) record(ctx context.Context, list []events.Event) error {
	ctx = context.WithoutCancel(ctx)
	redactor := h.Redaction.Redactor()
	if redactor == nil {
		var err error
		if redactor, err = redact.New(redact.Options{}); err != nil {
			return fmt.Errorf("record: %w", err)
		}
	}
	for i := range list {
		if err := redactor.Redact(&list[i]); err != nil {
			return fmt.Errorf("redact event %s: %w", list[i].ID, err)
		}
	}
	if h.Publisher != "" && !h.away {
		err := h.send(ctx, list)
		if err == nil {
			return nil
		}
		// It may have them all the same: with the same ids, they count once.
		h.problem(fmt.Errorf("events stay here: %w", err))
	}
	return h.keep(ctx, list)
}

// keep stores events, which have been redacted, in the outbox of the data
// directory. One that it has no room for is lost, and recorded as a gap.
func (h *hook) keep(ctx context.Context, list []events.Event) error {
	appending, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	opts := publish.SharedOptions{Tenant: h.tenantOr(), Full: publish.Shed, Redactor: publish.NoRedaction} // they are redacted
	_, err := publish.AppendShared(appending, SharedOutbox(h.dataDir), opts, list...)
	if errors.Is(err, context.DeadlineExceeded) {
		err = spool(h.dataDir, list)
	} else if err == nil {
		// What an earlier command left is no reason to fail this one.
		if err := Sweep(appending, h.dataDir); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			h.problem(err)
		}
	}
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// send posts events to the publisher elsewhere. Whose they are is said by its
// token unless a tenant was named.
func (h *hook) send(ctx context.Context, list []events.Event) error {
	ctx, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
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
