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

// CloudEvents yields the events of JSON lines, each a CloudEvent in JSON
// structured mode: what auditor replay prints, or a foreign tool.
//
// What belongs to the outbox that numbered an event before (producer, sequence
// and salt) is taken off; everything else stays as it is, unknown attributes
// and fields included. An event without a tenant gets that of opts, and under
// opts.Only others are reported. Records of
// another outbox's numbering (run.sealed, gap.recorded) say nothing here and are
// yielded with [ErrRecord], wrapped in a LineError, but under opts.Records.
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

// event returns the CloudEvent that text is, if it is taken.
func (o Options) event(text []byte, line int) (events.Event, error) {
	e, err := decodeEvent(text, o.Records)
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

// ErrRecord is wrapped by the report on a record that only an outbox writes
// about its own events.
var ErrRecord = errors.New("a record of another outbox's numbering")

// decodeEvent reads one CloudEvent and makes it one that no outbox has taken yet.
// Records of another outbox's numbering are refused, unless records says not.
func decodeEvent(data []byte, records bool) (events.Event, error) {
	e, err := events.Decode(data)
	if err != nil {
		return events.Event{}, err
	}
	if err := adopt(&e, records); err != nil {
		return events.Event{}, placeInPayload(data, e, err)
	}
	return e, nil
}

// numberBytes is more than the producer id and the salt that an outbox gives to
// an event: the limit for attributes must hold with them.
const numberBytes = 64

func adopt(e *events.Event, records bool) error {
	if k := e.Kind(); !records && (k == events.RunSealed || k == events.GapRecorded) {
		return fmt.Errorf("%s: %w", k, ErrRecord)
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
	for _, part := range [...]struct{ name, id string }{{"tenant", e.Tenant}, {"runid", e.Run}, {"type", string(e.Kind())}} {
		if _, err := subjects.Token(part.id); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
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

// reason returns what is wrong without the offset, which is told as the column.
func reason(e *events.InvalidError) string {
	if e.Attribute == "" {
		return e.Reason
	}
	return e.Attribute + ": " + e.Reason
}
