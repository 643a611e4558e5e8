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

// CloudEvents yields the events of JSON lines. Each line is a CloudEvent in JSON
// structured mode, for example from auditor replay.
//
// CloudEvents removes the producer, the sequence and the salt, which belong to the
// outbox that sent the event before. All other attributes and fields stay, also
// unknown ones. An event without a tenant gets the tenant of opts. With opts.Only,
// events of other tenants are reported instead. The seals and gaps of another
// outbox (run.sealed, gap.recorded) are meaningless here. They are reported as a
// LineError that wraps [ErrRecord], unless opts.Records is set.
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

// event decodes a CloudEvent and applies the options.
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

// ErrRecord reports a seal or a gap, which only an outbox may write about its
// events.
var ErrRecord = errors.New("a record of another outbox's numbering")

// decodeEvent reads one CloudEvent and removes the attributes of its outbox. It
// refuses the records of another outbox, unless records is true.
func decodeEvent(data []byte, records bool) (events.Event, error) {
	e, err := events.Decode(data)
	if err != nil {
		return events.Event{}, err
	}
	if err := adopt(&e, records); err != nil {
		return events.Event{}, offsetInInput(data, e, err)
	}
	return e, nil
}

// numberBytes exceeds the length of the producer id and the salt that an outbox
// adds to an event. The attributes must stay within their limit with these.
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

// reason returns the reason without the offset, because the report has the column.
func reason(e *events.InvalidError) string {
	if e.Attribute == "" {
		return e.Reason
	}
	return e.Attribute + ": " + e.Reason
}
