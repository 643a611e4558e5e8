package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// The media types of CloudEvents.
const (
	structuredType = "application/cloudevents+json"
	batchType      = "application/cloudevents-batch+json"
	anyEventType   = "application/cloudevents"
)

// RequestError says why a request was refused, and where. It holds no payload.
type RequestError struct {
	Status    int    // of the response
	Reason    string // what is wrong
	Index     int    // of the event in a batch, from 0; -1 when the request as a whole is meant
	Attribute string // of the event; empty when none is to blame
	Offset    int    // in the body, from 0; -1 when no place is known
	cause     error
}

// Error returns the reason with its place.
func (e *RequestError) Error() string {
	s := e.Reason
	if e.Attribute != "" {
		s = e.Attribute + ": " + s
	}
	if e.Index >= 0 {
		s = fmt.Sprintf("event %d: %s", e.Index, s)
	}
	if e.Offset >= 0 {
		s = fmt.Sprintf("%s (byte %d)", s, e.Offset)
	}
	return s
}

// Unwrap returns what was wrong.
func (e *RequestError) Unwrap() error { return e.cause }

func refuse(status int, format string, args ...any) *RequestError {
	return &RequestError{Status: status, Reason: fmt.Sprintf(format, args...), Index: -1, Offset: -1}
}

// FromRequest returns the events of an HTTP request in one of the content modes
// of CloudEvents: structured, binary or batch. Its errors are [*RequestError];
// one bad event refuses the whole batch. The caller bounds the body, with
// [http.MaxBytesReader], and closes it.
//
// What an outbox numbered before is treated as by [CloudEvents]. Payloads that
// are not JSON become data_base64, byte for byte.
func FromRequest(r *http.Request) ([]events.Event, error) {
	media, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // what cannot be parsed is no media type of ours
	if err := checkMedia(r.Header, media, params); err != nil {
		return nil, err
	}
	body, readErr := io.ReadAll(r.Body)
	if readErr != nil {
		return nil, bodyError(readErr)
	}
	switch media {
	case structuredType:
		e, err := decodeEvent(body)
		return one(e, asRequestError(err, -1, 0))
	case batchType:
		return fromBatch(body)
	}
	return one(fromHeaders(r.Header, isJSON(r.Header.Get("Content-Type")), body))
}

// checkMedia refuses what is in none of the content modes.
func checkMedia(header http.Header, media string, params map[string]string) error {
	isEvent := strings.HasPrefix(media, anyEventType)
	hasHeaders := header.Get("Ce-Specversion") != "" || header.Get("Ce-Id") != ""
	encoding := strings.Join(header.Values("Content-Encoding"), ", ")
	switch {
	case len(header.Values("Content-Type")) > 1:
		return refuse(http.StatusBadRequest, "content type occurs twice")
	case encoding != "" && !strings.EqualFold(encoding, "identity"):
		return refuse(http.StatusUnsupportedMediaType, "content encoding %q is not supported", encoding)
	case isEvent && media != structuredType && media != batchType:
		return refuse(http.StatusUnsupportedMediaType, "media type %q is not supported: %s and %s are", media, structuredType, batchType)
	case isEvent && !isUTF8(params):
		return refuse(http.StatusUnsupportedMediaType, "charset %q is not supported: utf-8 is", params["charset"])
	case !isEvent && !hasHeaders:
		return refuse(http.StatusUnsupportedMediaType, "neither %s nor %s nor ce- headers", structuredType, batchType)
	}
	return nil
}

func one(e events.Event, err error) ([]events.Event, error) {
	if err != nil {
		return nil, err
	}
	return []events.Event{e}, nil
}

func bodyError(err error) error {
	e := refuse(http.StatusBadRequest, "body ends early")
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		e = refuse(http.StatusRequestEntityTooLarge, "body is larger than %d bytes", tooLarge.Limit)
	} else if errors.Is(err, os.ErrDeadlineExceeded) {
		e = refuse(http.StatusRequestTimeout, "body did not come in time")
	}
	e.cause = err
	return e
}

// fromBatch returns the events of a JSON array.
func fromBatch(body []byte) ([]events.Event, error) {
	in := json.NewDecoder(bytes.NewReader(body))
	if open, err := in.Token(); err != nil || open != json.Delim('[') {
		return nil, placed(refuse(http.StatusBadRequest, "not a JSON array"), in.InputOffset())
	}
	list := []events.Event{}
	for in.More() {
		var raw json.RawMessage
		if err := in.Decode(&raw); err != nil {
			e := placed(refuse(http.StatusBadRequest, "not JSON"), in.InputOffset())
			e.Index = len(list)
			return nil, e
		}
		e, err := decodeEvent(raw)
		if err != nil {
			return nil, asRequestError(err, len(list), int(in.InputOffset())-len(raw))
		}
		list = append(list, e)
	}
	if _, err := in.Token(); err != nil {
		return nil, placed(refuse(http.StatusBadRequest, "the array does not end"), in.InputOffset())
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, placed(refuse(http.StatusBadRequest, "more after the array"), in.InputOffset())
	}
	return list, nil
}

func placed(e *RequestError, offset int64) *RequestError {
	e.Offset = int(offset)
	return e
}

func isUTF8(params map[string]string) bool {
	charset := strings.ToLower(params["charset"])
	return charset == "" || charset == "utf-8" || charset == "us-ascii"
}

// asRequestError returns err as one about event index of a batch, whose bytes
// start at start of the body.
func asRequestError(err error, index, start int) error {
	if err == nil {
		return nil
	}
	e := &RequestError{Status: http.StatusBadRequest, Reason: err.Error(), Index: index, Offset: -1, cause: err}
	if invalid, ok := errors.AsType[*events.InvalidError](err); ok {
		e.Reason, e.Attribute = invalid.Reason, invalid.Attribute
		if invalid.Offset >= 0 {
			e.Offset = start + invalid.Offset
		}
	}
	return e
}
