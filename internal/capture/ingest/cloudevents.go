package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// CloudEvents yields the events of an input with one CloudEvent per line, in JSON structured mode.
//
// Events without a tenant get opts.Tenant. The fields producer, sequence and salt, which an outbox
// adds, are removed. An event of a kind that only Hooktrail may record becomes a LineError that
// wraps [ErrReserved], unless opts.Records is set.
func CloudEvents(ctx context.Context, r io.Reader, opts Options) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for in, err := range Lines(ctx, r, opts) {
			var e events.Event
			if err == nil {
				e, err = opts.event(bytes.Clone(in.Text), in.Number)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (o Options) event(text []byte, line int) (events.Event, error) {
	reserved := reservedInHistory
	if o.Records {
		reserved = allKinds
	}
	e, err := decodeEvent(text, reserved)
	switch {
	case err != nil:
		return events.Event{}, asLineError(o.File, line, err)
	case e.Tenant == "":
		e.Tenant = o.Tenant
	case o.Only && e.Tenant != o.Tenant:
		return events.Event{}, &LineError{File: o.File, Line: line, Reason: "tenant: another one than is taken here"}
	}
	return e, nil
}

// DecodeEvent decodes one CloudEvent and validates it. If only Hooktrail may record events of its
// kind, the error wraps [ErrReserved].
func DecodeEvent(data []byte) (events.Event, error) { return decodeEvent(data, Reserved) }

func decodeEvent(data []byte, reserved func(events.Kind) bool) (events.Event, error) {
	e, err := events.Decode(data)
	if err != nil {
		return events.Event{}, err
	}
	if err := adopt(&e, reserved); err != nil {
		return events.Event{}, offsetInInput(data, e, err)
	}
	return e, nil
}

const numberBytes = 64

func adopt(e *events.Event, reserved func(events.Kind) bool) error {
	if k := e.Kind(); reserved(k) {
		return fmt.Errorf("%s: %w", k, ErrReserved)
	}
	added := numberBytes
	if e.Tenant == "" {
		added += subjects.MaxID
	}
	e.Producer, e.Sequence, e.Salt = strings.Repeat("-", added), 0, ""
	err := e.Normalize()
	e.Producer = ""
	if err != nil {
		return err
	}
	for _, attribute := range [...]struct{ name, id string }{{"tenant", e.Tenant}, {"runid", e.Run}, {"type", string(e.Kind())}} {
		if _, err := subjects.Token(attribute.id); err != nil {
			return fmt.Errorf("%s: %w", attribute.name, err)
		}
	}
	return nil
}

func asLineError(file string, number int, err error) *LineError {
	report := &LineError{File: file, Line: number, Reason: err.Error(), cause: err}
	if invalid, ok := errors.AsType[*events.InvalidError](err); ok {
		report.Reason = reason(invalid)
		report.Column = max(0, invalid.Offset+1)
	}
	return report
}

func reason(e *events.InvalidError) string {
	if e.Attribute == "" {
		return e.Reason
	}
	return e.Attribute + ": " + e.Reason
}
