package provider

import (
	"context"
	"errors"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Recorder is an Appender that sends each event to several Appenders.
type Recorder struct {
	first hooks.Appender
	rest  []hooks.Appender
}

// NewRecorder returns a Recorder. Each of rest gets the event that first
// returned. If first failed, each gets the original event, which first has not
// redacted.
func NewRecorder(first hooks.Appender, rest ...hooks.Appender) *Recorder {
	return &Recorder{first: first, rest: rest}
}

// Append sends e to each Appender in order, and continues after a failure. It
// returns the event that the first Appender returned, or e if that failed, and
// the joined errors.
func (r *Recorder) Append(ctx context.Context, e events.Event) (events.Event, error) {
	stored, err := r.first.Append(ctx, e)
	if err != nil {
		stored = e
	}
	failed := []error{err}
	for _, a := range r.rest {
		_, err := a.Append(ctx, stored)
		failed = append(failed, err)
	}
	return stored, errors.Join(failed...)
}
