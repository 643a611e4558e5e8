package ingest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"iter"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// CloudEventsFormat is the name of files of CloudEvents.
const CloudEventsFormat = "cloudevents"

// CloudEventFile yields the events of a file of CloudEvents in JSON: one per line
// as [CloudEvents] reads them, a list as batches have it, or one or several over
// more than one line each. Events of another tenant than that of opts are
// reported.
func CloudEventFile(ctx context.Context, r io.Reader, opts Options) iter.Seq2[events.Event, error] {
	opts.Only = true
	in := bufio.NewReaderSize(r, 64<<10)
	if head, err := in.Peek(64 << 10); hasLines(head) || err != nil && !errors.Is(err, io.EOF) {
		return CloudEvents(ctx, in, opts)
	}
	return func(yield func(events.Event, error) bool) {
		for p, err := range wholes(Documents(ctx, in, opts)) {
			var e events.Event
			if err == nil {
				e, err = opts.event(p.Text, p.Line)
				if report, ok := errors.AsType[*LineError](err); ok {
					report.Column = 0 // it is one in the event
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// wholes puts the members of each document together again, and leaves the
// elements of lists as they are.
func wholes(parts iter.Seq2[Part, error]) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		var whole Object
		for p, err := range parts {
			switch {
			case err != nil:
			case p.End && whole.Empty():
				continue // of a list
			case p.End:
				p.Text, whole = whole.JSON(), Object{}
			case p.Element < 0:
				whole.Add(p.Member, p.Text)
				continue
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// hasLines reports whether an input that begins with head has one event per
// line: it begins no list, and its first line does not end within an object.
func hasLines(head []byte) bool {
	line, _, _ := bytes.Cut(Opening(head), []byte("\n"))
	line = bytes.TrimRight(line, " \t\r")
	return len(line) == 0 || line[0] != '[' && !bytes.HasSuffix(line, []byte("{")) && !bytes.HasSuffix(line, []byte(","))
}

// DetectCloudEvents reports whether an input that begins with head is one of
// CloudEvents.
func DetectCloudEvents(head []byte, _ string) bool {
	if first, list := FirstElement(head); list {
		head = first
	}
	_, ok := Members(Opening(head))["specversion"]
	return ok
}
