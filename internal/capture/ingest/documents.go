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

// Fragment is a part of a JSON document. It is a member of an object or an element of a list.
type Fragment struct {
	Document int             // index of the document in the input
	Member   string          // name of the member; empty if the document is a list
	Element  int             // index in the list; -1 for a whole member
	Line     int             // line number of the start of the fragment, from 1
	Text     json.RawMessage // valid JSON; the receiver may keep it
	End      bool            // end of the document; only Document and Line are set
}

// Documents yields the parts of JSON documents, so that only one part of at most [MaxLine] bytes is
// in memory. A part is a member of an object or an element of a list. If the name of a member is in
// lists, each element of the member's value is a separate part.
//
// A syntax error is a [*LineError] and ends the input. If opts.Open is set, an incomplete last
// document is not an error.
func Documents(ctx context.Context, r io.Reader, opts Options, lists ...string) iter.Seq2[Fragment, error] {
	return func(yield func(Fragment, error) bool) {
		in := &documents{ctx: ctx, opts: opts, lists: lists, yield: yield}
		in.read(r, MaxLine)
	}
}

type documents struct {
	ctx    context.Context //nolint:containedctx // the state does not outlive the loop of this context
	opts   Options
	lists  []string
	yield  func(Fragment, error) bool
	dec    *json.Decoder
	source *positionReader
	number int
	inside bool
}

func (in *documents) read(r io.Reader, limit int64) {
	in.source = newPositionReader(r, limit)
	in.dec = json.NewDecoder(in.source)
	in.dec.UseNumber()
	in.source.taken = in.dec.InputOffset
	for in.document() {
		in.number++
	}
}

var errStopped = errors.New("stopped")

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
		line, _ := in.source.position(in.dec.InputOffset())
		return in.yield(Fragment{}, &LineError{File: in.opts.File, Line: line, Reason: "neither a JSON object nor a list"})
	}
	if err != nil && (errors.Is(err, errStopped) || !in.fail(err)) {
		return false
	}
	line, _ := in.source.position(in.dec.InputOffset())
	return in.yield(Fragment{Document: in.number, Element: -1, Line: line, End: true}, nil) && err == nil
}

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

func (in *documents) listed(name string) error {
	token, err := in.dec.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('['):
		return in.list(name)
	case json.Delim('{'):
		return in.opened(name)
	}
	return in.give(name, -1, JSON(token))
}

func (in *documents) opened(name string) error {
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

func (in *documents) list(name string) error {
	for i := 0; in.dec.More(); i++ {
		if err := in.value(name, i); err != nil {
			return err
		}
	}
	_, err := in.dec.Token()
	return err
}

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
	line, column := in.source.position(in.dec.InputOffset() - int64(len(text)))
	if !utf8.Valid(text) {
		report := &LineError{File: in.opts.File, Line: line, Column: column, Reason: "not UTF-8, repaired", Kept: true}
		if !in.yield(Fragment{}, report) {
			return errStopped
		}
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	if !in.yield(Fragment{Document: in.number, Member: name, Element: element, Line: line, Text: text}, nil) {
		return errStopped
	}
	return nil
}

// fail reports err to the receiver of the fragments. If it returns true, the caller must also yield
// the end of the document.
func (in *documents) fail(err error) bool {
	at := in.dec.InputOffset()
	report := &LineError{File: in.opts.File}
	syntax, isSyntax := errors.AsType[*json.SyntaxError](err)
	early := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	switch {
	case in.ctx.Err() != nil:
		in.yield(Fragment{}, in.ctx.Err())
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
		in.yield(Fragment{}, fmt.Errorf("read %s: %w", in.opts.File, err))
		return false
	}
	report.Line, report.Column = in.source.position(at)
	return in.yield(Fragment{}, report)
}

// broken returns the offset of a syntax error in the remaining input. It parses that input again,
// because the offset in err cannot be used.
func (in *documents) broken(err error) int64 {
	buffered, readErr := io.ReadAll(in.dec.Buffered())
	if !in.inside || readErr != nil || strings.HasPrefix(err.Error(), "expected ") { // a missing comma or colon
		return 0
	}
	var value json.RawMessage
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(buffered, &value)); ok {
		return max(0, syntax.Offset-1)
	}
	return 0
}

// Documents calls read with each fragment until the receiver of the events stops. It returns true
// if it read the whole input.
func (m *Emitter) Documents(ctx context.Context, r io.Reader, read func(Fragment), lists ...string) bool {
	return each(m, Documents(ctx, r, m.opts, lists...), func(p Fragment) {
		m.line = p.Line
		read(p)
	})
}

// WrongShape reports that the current fragment contains a value of an unexpected type. Set kept if
// the fragment still becomes events.
func (m *Emitter) WrongShape(err error, kept bool) {
	report := JSONError(m.opts.File, Line{Number: m.line}, err)
	report.Column, report.Kept = 0, kept // the column in the input is unknown
	m.Report(report)
}
