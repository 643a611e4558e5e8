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

// NewRecorder returns a Recorder. It sends each event to first, and then the result of first to the
// Appenders in rest. If first fails, the rest get the original event. This event may contain data
// that first would have redacted.
func NewRecorder(first hooks.Appender, rest ...hooks.Appender) *Recorder {
	return &Recorder{first: first, rest: rest}
}

// Append sends e to the first Appender, and the event that this Appender returns to the others. It
// calls all of them even after a failure. It returns the event and all errors.
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
