package provider

import (
	"context"
	"errors"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Recorder is an Appender that gives every event to several: the outcome of every
// dispatch, denials and failures included, where a registry has it as its
// Appender.
type Recorder struct {
	first hooks.Appender
	rest  []hooks.Appender
}

// NewRecorder returns a Recorder. The first is the one of record: the rest get
// each event as it stored it.
func NewRecorder(first hooks.Appender, rest ...hooks.Appender) *Recorder {
	return &Recorder{first: first, rest: rest}
}

// Append gives e to each, one after the other, also after one has failed. It
// returns the event as the first stored it, and all errors.
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
