package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// Part is one piece of a JSON document: a member of the object that it is, or
// one element of a list that is read element by element.
type Part struct {
	Document int             // which one of the input, from 0
	Member   string          // its name; empty for the elements of a document that is a list
	Element  int             // which one of the list; -1 for a whole member
	Line     int             // where it begins, from 1
	Text     json.RawMessage // valid JSON; the receiver's own
	End      bool            // the document ended: nothing else is set but Document and Line
}

// Documents yields the parts of the JSON documents in r, which stand one behind
// the other. In an object the members of the given names, where they are lists,
// come element by element, and so does a document that is a list: of a large
// document one part is in memory at a time. A part is at most [MaxLine] long.
//
// A document that is neither object nor list is reported and skipped. What is no
// JSON is reported as a [*LineError] and ends the input, because nothing tells
// where the next value would begin; the document so far is ended all the same.
// While opts.Open, one that is not complete is no fault and is not ended.
func Documents(ctx context.Context, r io.Reader, opts Options, lists ...string) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		in := &documents{ctx: ctx, opts: opts, lists: lists, yield: yield}
		in.read(r, MaxLine)
	}
}

// documents is the state of one input.
type documents struct {
	ctx    context.Context //nolint:containedctx // that of one loop, which the state does not outlive
	opts   Options
	lists  []string
	yield  func(Part, error) bool
	dec    *json.Decoder
	source *located
	number int  // of the present document
	inside bool // a value is being read
}

// read reads all documents, whose values are no longer than limit.
func (in *documents) read(r io.Reader, limit int64) {
	in.source = newLocated(r, limit)
	in.dec = json.NewDecoder(in.source)
	in.dec.UseNumber()
	in.source.taken = in.dec.InputOffset
	for in.document() {
		in.number++
	}
}

// errStopped says that whoever takes the parts wants no more.
var errStopped = errors.New("stopped")

// document reads one document, and reports whether another one may follow.
func (in *documents) document() bool {
	token, err := in.dec.Token()
	switch {
	case errors.Is(err, io.EOF):
		return false
	case err != nil:
		in.fail(err)
		return false
	}
	switch token {
	case json.Delim('{'):
		err = in.object()
	case json.Delim('['):
		err = in.list("")
	default:
		line, _ := in.source.place(in.dec.InputOffset())
		return in.yield(Part{}, &LineError{File: in.opts.File, Line: line, Reason: "neither a JSON object nor a list"})
	}
	if err != nil && (errors.Is(err, errStopped) || !in.fail(err)) {
		return false
	}
	line, _ := in.source.place(in.dec.InputOffset())
	return in.yield(Part{Document: in.number, Element: -1, Line: line, End: true}, nil) && err == nil
}

// object reads the members of an object up to its end.
func (in *documents) object() error {
	for in.dec.More() {
		token, err := in.dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if slices.Contains(in.lists, name) {
			err = in.listed(name)
		} else {
			err = in.value(name, -1)
		}
		if err != nil {
			return err
		}
	}
	_, err := in.dec.Token()
	return err
}

// listed reads a member that should be a list. One that is none is a part.
func (in *documents) listed(name string) error {
	token, err := in.dec.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('['):
		return in.list(name)
	case json.Delim('{'):
		return in.rest(name)
	}
	return in.give(name, -1, JSON(token))
}

// rest reads an object that has begun already, and yields it as a whole.
func (in *documents) rest(name string) error {
	var whole Object
	for in.dec.More() {
		token, err := in.dec.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := in.dec.Decode(&value); err != nil {
			return err
		}
		key, _ := token.(string)
		whole.Add(key, value)
	}
	if _, err := in.dec.Token(); err != nil {
		return err
	}
	text := whole.JSON()
	if text == nil {
		text = json.RawMessage("{}")
	}
	return in.give(name, -1, text)
}

// list reads the elements of a list up to its end.
func (in *documents) list(name string) error {
	for i := 0; in.dec.More(); i++ {
		if err := in.value(name, i); err != nil {
			return err
		}
	}
	_, err := in.dec.Token()
	return err
}

// value reads one value and yields it.
func (in *documents) value(name string, element int) error {
	var text json.RawMessage
	in.inside = true
	if err := in.dec.Decode(&text); err != nil {
		return err
	}
	in.inside = false
	return in.give(name, element, text)
}

func (in *documents) give(name string, element int, text json.RawMessage) error {
	if err := in.ctx.Err(); err != nil {
		return err
	}
	line, column := in.source.place(in.dec.InputOffset() - int64(len(text)))
	if !utf8.Valid(text) {
		report := &LineError{File: in.opts.File, Line: line, Column: column, Reason: "not UTF-8, repaired", Kept: true}
		if !in.yield(Part{}, report) {
			return errStopped
		}
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	if !in.yield(Part{Document: in.number, Member: name, Element: element, Line: line, Text: text}, nil) {
		return errStopped
	}
	return nil
}

// fail reports what ended the input, and returns whether the document is over
// with it: it is not where it is still being written, or whoever takes the parts
// wants no more.
func (in *documents) fail(err error) bool {
	at := in.dec.InputOffset()
	report := &LineError{File: in.opts.File}
	syntax, isSyntax := errors.AsType[*json.SyntaxError](err)
	early := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	switch {
	case in.ctx.Err() != nil:
		in.yield(Part{}, in.ctx.Err())
		return false
	case early && in.opts.Open:
		return false
	case early:
		at, report.Reason = in.source.read, "not JSON: the document ends early"
	case errors.Is(err, errTooLong):
		report.Reason = fmt.Sprintf("a value longer than %d bytes; what follows is not read", in.source.limit)
	case isSyntax:
		at += in.broken(syntax)
		report.Reason = JSONError("", Line{}, syntax).Reason + "; what follows is not read"
	default:
		in.yield(Part{}, fmt.Errorf("read %s: %w", in.opts.File, err))
		return false
	}
	report.Line, report.Column = in.source.place(at)
	return in.yield(Part{}, report)
}

// broken returns how far behind the last good token the input is no JSON. The
// decoder itself counts from different places.
func (in *documents) broken(err error) int64 {
	rest, readErr := io.ReadAll(in.dec.Buffered())
	if !in.inside || readErr != nil || strings.HasPrefix(err.Error(), "expected ") { // a comma or a colon
		return 0
	}
	var value json.RawMessage
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(rest, &value)); ok {
		return max(0, syntax.Offset-1)
	}
	return 0
}

// Documents calls read with each part of r, as [Documents] yields it, until the
// reader of the events stops. It reports whether the input came to its end.
func (m *Emitter) Documents(ctx context.Context, r io.Reader, read func(Part), lists ...string) bool {
	return each(m, Documents(ctx, r, m.opts, lists...), func(p Part) {
		m.line = p.Line
		read(p)
	})
}

// Misfit reports that the present part is not of the expected shape, as err of
// encoding/json says.
func (m *Emitter) Misfit(err error, kept bool) {
	report := JSONError(m.opts.File, Line{Number: m.line}, err)
	report.Column, report.Kept = 0, kept // the column is one in the part
	m.Report(report)
}
