package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// ShapeError is an error about JSON with an unexpected type of value, such as "message.content:
// neither text nor blocks".
type ShapeError string

// Error returns the path of the value and the reason.
func (e ShapeError) Error() string { return string(e) }

// JSONError converts an error of encoding/json, or a [ShapeError], to a LineError. The result
// contains no text of the line.
func JSONError(file string, l Line, err error) *LineError {
	report := &LineError{File: file, Line: l.Number, Reason: "not JSON"}
	shape, isShape := errors.AsType[ShapeError](err)
	syntax, isSyntax := errors.AsType[*json.SyntaxError](err)
	mismatch, isMismatch := errors.AsType[*json.UnmarshalTypeError](err)
	nul := bytes.IndexByte(l.Text, 0)
	switch {
	case isShape:
		report.Reason = string(shape)
	case nul >= 0:
		report.Column, report.Reason = nul+1, "not JSON: NUL byte"
	case isSyntax && strings.Contains(err.Error(), "unexpected end"):
		report.Column, report.Reason = len(l.Text), "not JSON: the line ends early"
	case isSyntax:
		report.Column, report.Reason = int(syntax.Offset), syntaxReason(err.Error())
	case isMismatch:
		kind, _, _ := strings.Cut(mismatch.Value, " ")
		report.Column, report.Reason = int(mismatch.Offset), mismatch.Field+": unexpected "+kind
	}
	return report
}

func syntaxReason(message string) string {
	switch {
	case strings.Contains(message, "after top-level value"):
		return "not JSON: more text after the value"
	case strings.Contains(message, "exceeded max depth"):
		return "nested too deep"
	}
	return "not JSON: unexpected character"
}
