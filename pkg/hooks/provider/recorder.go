package provider

import (
	"context"
	"errors"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Recorder is an Appender that sends each event to several Appenders. A
// registry with a Recorder sends the outcome of every dispatch to all of them.
type Recorder struct {
	first hooks.Appender
	rest  []hooks.Appender
}

// NewRecorder returns a Recorder. The other Appenders get each event as first
// stored it.
func NewRecorder(first hooks.Appender, rest ...hooks.Appender) *Recorder {
	return &Recorder{first: first, rest: rest}
}

// Append sends e to each Appender in order, and continues after a failure. It
// returns the event as the first one stored it, and the joined errors.
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
