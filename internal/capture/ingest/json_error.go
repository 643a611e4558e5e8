package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ShapeError reports JSON of the wrong shape with its path, for example
// "message.content: neither text nor blocks". It quotes no text of the line.
type ShapeError string

// Error returns the path and the reason.
func (e ShapeError) Error() string { return string(e) }

// JSONError returns the report for an error of decoding l. err is an error of
// encoding/json or a [ShapeError]. The report quotes no text of the line.
func JSONError(file string, l Line, err error) *LineError {
	report := &LineError{File: file, Line: l.Number, Reason: "not JSON"}
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	var shape ShapeError
	switch {
	case errors.As(err, &shape):
		report.Reason = shape.Error()
	case bytes.IndexByte(l.Text, 0) >= 0:
		report.Column = bytes.IndexByte(l.Text, 0) + 1
		report.Reason = "not JSON: NUL byte"
	case errors.As(err, &syntax) && strings.Contains(err.Error(), "after top-level value"):
		report.Column = int(syntax.Offset)
		report.Reason = "not JSON: more text after the value"
	case errors.As(err, &syntax) && strings.Contains(err.Error(), "exceeded max depth"):
		report.Column = int(syntax.Offset)
		report.Reason = "nested too deep"
	case errors.As(err, &syntax) && strings.Contains(err.Error(), "unexpected end"):
		report.Column = len(l.Text)
		report.Reason = "not JSON: the line ends early"
	case errors.As(err, &syntax):
		report.Column = int(syntax.Offset)
		report.Reason = "not JSON: unexpected character"
	case errors.As(err, &mismatch):
		kind, _, _ := strings.Cut(mismatch.Value, " ")
		report.Column = int(mismatch.Offset)
		report.Reason = fmt.Sprintf("%s: unexpected %s", mismatch.Field, kind)
	}
	return report
}
