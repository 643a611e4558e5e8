package ingest

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

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
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
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
	return one(fromHeaders(r.Header, isJSON(media, params, err), body))
}

// checkMedia refuses what is in none of the content modes.
func checkMedia(header http.Header, media string, params map[string]string) error {
	isEvent := strings.HasPrefix(media, anyEventType)
	hasHeaders := header.Get("Ce-Specversion") != "" || header.Get("Ce-Id") != ""
	encoding := header.Get("Content-Encoding")
	switch {
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

// fromHeaders returns the event of binary mode. It is put together in JSON, so
// that the rules for attributes are those of the other modes.
func fromHeaders(header http.Header, bodyIsJSON bool, body []byte) (events.Event, error) {
	attributes, err := headerAttributes(header)
	if err != nil {
		return events.Event{}, err
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		writeString(&b, name)
		b.WriteByte(':')
		writeString(&b, attributes[name])
		b.WriteByte(',')
	}
	b.WriteString(`"data":`)
	start := b.Len()
	switch {
	case len(body) == 0:
		b.WriteString("null")
	case bodyIsJSON:
		// One value and nothing behind it: a body cannot add attributes.
		if err := json.Unmarshal(body, new(json.RawMessage)); err != nil {
			return events.Event{}, bodyNotJSON(err)
		}
		b.Write(body)
	default:
		b.Truncate(start - len(`":`))
		b.WriteString(`_base64":"` + base64.StdEncoding.EncodeToString(body) + `"`)
	}
	b.WriteByte('}')
	e, err := decodeEvent(b.Bytes())
	if len(body) == 0 {
		e.Data = nil
	}
	return e, headerError(err, start, bodyIsJSON)
}

// headerAttributes returns the attributes in ce- headers and the content type.
func headerAttributes(header http.Header) (map[string]string, error) {
	attributes := map[string]string{}
	if ct := header.Get("Content-Type"); ct != "" {
		attributes["datacontenttype"] = ct
	}
	for key, values := range header {
		name, ok := strings.CutPrefix(strings.ToLower(key), "ce-")
		if !ok {
			continue
		}
		value := percentDecode(unquote(values[0]))
		switch {
		case len(values) > 1:
			return nil, attributeError(name, "occurs twice")
		case name == "data" || name == "data_base64" || name == "datacontenttype":
			return nil, attributeError(name, "cannot be a header")
		case !utf8.ValidString(value):
			return nil, attributeError(name, "not UTF-8")
		}
		attributes[name] = value
	}
	return attributes, nil
}

// headerError returns err with its place in the body, which starts at start.
// Attributes came as headers and have no place in it.
func headerError(err error, start int, bodyIsJSON bool) error {
	bad := asRequestError(err, -1, -start)
	if r, ok := errors.AsType[*RequestError](bad); ok && (!bodyIsJSON || r.Attribute != "data" && !strings.HasPrefix(r.Attribute, "data.")) {
		r.Offset = -1
	}
	return bad
}

func bodyNotJSON(err error) error {
	e := refuse(http.StatusBadRequest, "not JSON, as the content type says")
	e.Attribute, e.cause = "data", err
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		e.Offset = int(syntax.Offset) - 1
	}
	return e
}

func attributeError(name, reason string) error {
	e := refuse(http.StatusBadRequest, "%s", reason)
	e.Attribute = name
	return e
}

// unquote takes the quotes off a value that a sender put into them, as
// CloudEvents asks of receivers.
func unquote(value string) string {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return value
	}
	var b strings.Builder
	for rest := value[1 : len(value)-1]; rest != ""; rest = rest[1:] {
		if rest[0] == '\\' && len(rest) > 1 {
			rest = rest[1:]
		}
		b.WriteByte(rest[0])
	}
	return b.String()
}

// percentDecode resolves %XX. A percent sign that is not of one stands for
// itself: some senders encode nothing.
func percentDecode(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := hex.DecodeString(s[i+1 : i+3]); err == nil {
				b = append(b, c...)
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

func writeString(b *bytes.Buffer, s string) {
	text, err := json.Marshal(s)
	if err == nil { // a string always encodes
		b.Write(text)
	}
}

// isJSON reports whether a body of this content type is JSON. Without a content
// type it is, as for an event without datacontenttype.
func isJSON(media string, params map[string]string, err error) bool {
	if media == "" {
		return true
	}
	if err != nil || !isUTF8(params) {
		return false
	}
	_, subtype, _ := strings.Cut(media, "/")
	return subtype == "json" || strings.HasSuffix(subtype, "+json")
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
