// Package gemini reads what Gemini CLI writes: the recordings of its chats, and
// recorded answers of its models.
package gemini

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Source is the source of the events of Gemini CLI's sessions, and the name of
// the agent of a session.
const Source = "gemini-cli"

// Events yields the events of one recording: a single JSON object, of whatever
// size, or lines that add and replace messages, as newer versions write them; or
// of recorded answers of the model, one per line.
//
// A session is a run, a prompt with what followed on it a step. The session of a
// sub-agent is a run "<parent>/<session>" below that of its parent. A run has
//
//	run.started, session.start       with what stands before the first message
//	prompt.submit                    what the user asked
//	tool.before, tool.result         a tool call and its result, once it has one
//	response.completed               one answer of the model; its latest tokens count
//	message.created                  answers, thoughts, and what the tool itself said
//	model.switched                   an answer of another model than the one before
//	error                            what the tool says is one
//	subagent.start, subagent.stopped of a call that ran one
//	custom                           every other line or member
//	step.finished, run.finished      at the next prompt, and at the end
//
// A message that is written again with more in it adds what is new in it. The
// status of a call is the tool's, or that of the exit code of a command. Recorded
// answers are steps of their own, whose calls have no results. Input tokens are
// those that were not read from a cache; thoughts are output.
func Events(ctx context.Context, r io.Reader, opts ingest.Options) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		m := ingest.NewEmitter(Source, opts, yield)
		in := bufio.NewReaderSize(r, ingest.HeadBytes)
		head, err := in.Peek(ingest.HeadBytes)
		if err != nil && !errors.Is(err, io.EOF) {
			m.Report(fmt.Errorf("read %s: %w", opts.File, err))
			return
		}
		c := &chat{Emitter: m, opts: opts, written: map[string]*writtenMessage{}}
		switch shapeOf(head) {
		case document:
			if m.Documents(ctx, in, c.part, "messages") {
				c.end()
				m.Finish()
			}
		case lines, unknown:
			if m.Lines(ctx, in, c.line) {
				c.end()
				m.Finish()
			}
		case answers:
			a := &answered{Emitter: m, opts: opts}
			if m.Lines(ctx, in, a.line) {
				m.Finish()
			}
		}
	}
}

// shape is how a recording is written.
type shape int

const (
	unknown  shape = iota
	document       // one object with all messages
	lines          // a line per message
	answers        // a line per answer of the model
)

// shapeOf tells the shape of an input that begins with head.
func shapeOf(head []byte) shape {
	o := ingest.Members(bytes.TrimPrefix(head, []byte("\uFEFF")))
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { _, ok := o[name]; return !ok })
	}
	isChat := has("sessionId", "projectHash")
	filled := has("messages") && !empty(o["messages"])
	switch {
	case has("method", "response"):
		return answers
	case filled && (isChat || has("projectHash") || has("lastUpdated") || has("sessionId", "startTime")):
		return document
	case isChat && oneLine(head):
		return lines
	case isChat:
		return document
	}
	return unknown
}

// empty reports whether a list that was read whole has nothing in it.
func empty(list json.RawMessage) bool { return string(bytes.Join(bytes.Fields(list), nil)) == "[]" }

// oneLine reports whether the object that head begins with ends in its first line.
func oneLine(head []byte) bool {
	first, _, _ := bytes.Cut(head, []byte("\n"))
	return json.Valid(first)
}

// Detect tells whether an input that begins with head is of Gemini CLI.
func Detect(head []byte, _ string) bool { return shapeOf(head) != unknown }
