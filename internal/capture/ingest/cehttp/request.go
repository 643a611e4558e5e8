package cehttp

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	structuredType = "application/cloudevents+json"
	batchType      = "application/cloudevents-batch+json"
	anyEventType   = "application/cloudevents"
)

var lineTypes = []string{"application/x-ndjson", "application/jsonl", "application/cloudevents+jsonl"}

// Received is an event from an HTTP request and its position in the body.
type Received struct {
	Event  events.Event
	Index  int   // index in the batch, from 0; -1 for a single event
	Line   int   // from 1
	Offset int64 // in bytes, from 0
}

// Read decodes the events of an HTTP request with [ingest.DecodeEvent] and yields them while they
// arrive. It ends at the first error, which is a [*Error]. An event has at most maxEvent bytes.
//
// The caller limits the body with [http.MaxBytesReader], decodes the content encoding and closes
// the body.
func Read(r *http.Request, maxEvent int) iter.Seq2[Received, error] {
	return func(yield func(Received, error) bool) {
		media, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // an invalid type is allowed with ce- headers
		if err := checkMedia(r.Header, media, params); err != nil {
			yield(Received{Index: -1}, err)
			return
		}
		body := newScanner(r.Body, maxEvent)
		switch {
		case media == batchType:
			each(body.element, body, yield)
		case !hasHeaders(r.Header) && slices.Contains(lineTypes, media):
			each(body.row, body, yield)
		default:
			e, err := readOne(r, media, maxEvent)
			yield(Received{Event: e, Index: -1, Line: 1}, err)
		}
	}
}

func each(next func() (eventText, error), body *scanner, yield func(Received, error) bool) {
	for i := 0; ; i++ {
		p, err := next()
		if errors.Is(err, io.EOF) {
			return
		}
		at := Received{Index: i, Line: p.line, Offset: p.offset}
		if err != nil {
			yield(at, body.fault(err, i))
			return
		}
		if at.Event, err = ingest.DecodeEvent(p.text); err != nil {
			yield(at, asError(err, at, p.text))
			return
		}
		if !yield(at, nil) {
			return
		}
	}
}

func readOne(r *http.Request, media string, maxEvent int) (events.Event, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(maxEvent)+1))
	if err != nil {
		return events.Event{}, BodyError(err)
	}
	if len(body) > maxEvent {
		return events.Event{}, tooLarge(maxEvent)
	}
	if media == structuredType {
		e, err := ingest.DecodeEvent(body)
		return e, asError(err, Received{Index: -1, Line: 1}, body)
	}
	return fromHeaders(r.Header, isJSON(r.Header.Get("Content-Type")), body)
}

func checkMedia(header http.Header, media string, params map[string]string) error {
	isOurs := media == structuredType || media == batchType || slices.Contains(lineTypes, media)
	encoding := strings.Join(header.Values("Content-Encoding"), ", ")
	switch {
	case len(header.Values("Content-Type")) > 1:
		return refuse(http.StatusBadRequest, "content type occurs twice")
	case encoding != "" && !strings.EqualFold(encoding, "identity"):
		return refuse(http.StatusUnsupportedMediaType, "content encoding %q is not supported", encoding)
	case isOurs && !isUTF8(params):
		return refuse(http.StatusUnsupportedMediaType, "charset %q is not supported: utf-8 is", params["charset"])
	case isOurs:
	case strings.HasPrefix(media, anyEventType):
		return refuse(http.StatusUnsupportedMediaType, "media type %q is not supported: %s and %s are", media, structuredType, batchType)
	case !hasHeaders(header):
		return refuse(http.StatusUnsupportedMediaType, "neither %s nor %s nor %s nor ce- headers", structuredType, batchType, lineTypes[0])
	}
	return nil
}

func hasHeaders(header http.Header) bool {
	return header.Get("Ce-Specversion") != "" || header.Get("Ce-Id") != ""
}

func isUTF8(params map[string]string) bool {
	charset := strings.ToLower(params["charset"])
	return charset == "" || charset == "utf-8" || charset == "us-ascii"
}

func lineOf(text []byte, offset, first int) int {
	return first + bytes.Count(text[:min(max(offset, 0), len(text))], []byte{'\n'})
}
