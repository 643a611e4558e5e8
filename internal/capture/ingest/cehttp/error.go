package cehttp

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Error describes why an HTTP request with CloudEvents was refused.
type Error struct {
	Status    int // of the response
	Reason    string
	Index     int    // index of the event in a batch, from 0; -1 for the whole request
	Attribute string // attribute of the event that is invalid; may be empty
	Line      int    // in the body, from 1; 0 if unknown
	Offset    int    // in the body, from 0; -1 if unknown
	cause     error
}

// Error returns the reason, with the index of the event and the name of the attribute if they are
// known.
func (e *Error) Error() string {
	s := e.Reason
	if e.Attribute != "" {
		s = e.Attribute + ": " + s
	}
	if e.Index >= 0 {
		s = fmt.Sprintf("event %d: %s", e.Index, s)
	}
	switch {
	case e.Line > 0 && e.Offset >= 0:
		s = fmt.Sprintf("%s (line %d, byte %d)", s, e.Line, e.Offset)
	case e.Offset >= 0:
		s = fmt.Sprintf("%s (byte %d)", s, e.Offset)
	}
	return s
}

// Unwrap returns the cause, if there is one.
func (e *Error) Unwrap() error { return e.cause }

func refuse(status int, format string, args ...any) *Error {
	return &Error{Status: status, Reason: fmt.Sprintf(format, args...), Index: -1, Offset: -1}
}

func tooLarge(limit int) *Error {
	return refuse(http.StatusRequestEntityTooLarge, "an event is larger than %d bytes", limit)
}

// BodyError returns the HTTP error for a failure to read the body of a request.
func BodyError(err error) *Error {
	e := refuse(http.StatusBadRequest, "body ends early")
	tooLarge, isTooLarge := errors.AsType[*http.MaxBytesError](err)
	_, isCorrupt := errors.AsType[flate.CorruptInputError](err)
	switch {
	case isTooLarge:
		e = refuse(http.StatusRequestEntityTooLarge, "body is larger than %d bytes", tooLarge.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		e = refuse(http.StatusRequestTimeout, "body did not come in time")
	case isCorrupt, errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		e = refuse(http.StatusBadRequest, "body is not gzip, as its encoding says")
	}
	e.cause = err
	return e
}

func asError(err error, at Received, text []byte) error {
	if err == nil {
		return nil
	}
	e := &Error{Status: http.StatusBadRequest, Reason: err.Error(), Index: at.Index, Offset: -1, cause: err}
	if at.Index >= 0 {
		e.Line, e.Offset = at.Line, int(at.Offset)
	}
	if invalid, ok := errors.AsType[*events.InvalidError](err); ok {
		e.Reason, e.Attribute = invalid.Reason, invalid.Attribute
		if invalid.Offset >= 0 {
			e.Line, e.Offset = lineOf(text, invalid.Offset, at.Line), int(at.Offset)+invalid.Offset
		}
	}
	return e
}

func inBody(err error, text []byte, start int, bodyIsJSON bool) error {
	e, ok := errors.AsType[*Error](asError(err, Received{Index: -1, Line: 1}, text))
	if !ok {
		return nil
	}
	isData := e.Attribute == "data" || strings.HasPrefix(e.Attribute, "data.")
	if bodyIsJSON && isData && e.Offset >= start {
		e.Line, e.Offset = lineOf(text[start:], e.Offset-start, 1), e.Offset-start
	} else {
		e.Line, e.Offset = 0, -1
	}
	return e
}
