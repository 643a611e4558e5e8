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

// CloudEventsFormat is the name of the import format for files with CloudEvents.
const CloudEventsFormat = "cloudevents"

// CloudEventFile yields the events of a file with CloudEvents. The file has one event per line, or
// is a JSON list, or contains JSON objects over several lines. Events of tenants other than
// opts.Tenant are errors.
func CloudEventFile(ctx context.Context, r io.Reader, opts Options) iter.Seq2[events.Event, error] {
	opts.Only = true
	in := bufio.NewReaderSize(r, 64<<10)
	if head, err := in.Peek(64 << 10); hasLines(head) || err != nil && !errors.Is(err, io.EOF) {
		return CloudEvents(ctx, in, opts)
	}
	return func(yield func(events.Event, error) bool) {
		for p, err := range joined(Documents(ctx, in, opts)) {
			var e events.Event
			if err == nil {
				e, err = opts.event(p.Text, p.Line)
				if report, ok := errors.AsType[*LineError](err); ok {
					report.Column = 0 // the column in the file is unknown
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func joined(fragments iter.Seq2[Fragment, error]) iter.Seq2[Fragment, error] {
	return func(yield func(Fragment, error) bool) {
		var whole Object
		for p, err := range fragments {
			switch {
			case err != nil:
			case p.End && whole.Empty():
				continue // the end of a list
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

func hasLines(head []byte) bool {
	line, _, _ := bytes.Cut(Opening(head), []byte("\n"))
	line = bytes.TrimRight(line, " \t\r")
	return len(line) == 0 || line[0] != '[' && !bytes.HasSuffix(line, []byte("{")) && !bytes.HasSuffix(line, []byte(","))
}

// DetectCloudEvents reports whether an input that begins with head contains
// CloudEvents.
func DetectCloudEvents(head []byte, _ string) bool {
	if first, list := FirstElement(head); list {
		head = first
	}
	_, ok := Members(Opening(head))["specversion"]
	return ok
}
