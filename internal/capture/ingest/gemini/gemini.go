// Package gemini reads recorded chats of Gemini CLI, and files of recorded answers of a Gemini
// model.
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

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Source is the CloudEvents source of the events, and the name of the agent in them.
const Source = "gemini-cli"

// Events yields the events of one recording. A recording is a JSON object, lines that add
// and replace messages, or lines with recorded answers of the model.
//
// A session is a run, and a prompt begins a step. The session of a sub-agent is a run
// "<parent>/<session>". The events of a run are
//
//	run.started, session.start       with the members before the first message
//	prompt.submit                    the prompt of the user
//	tool.before, tool.result         a tool call, and its result once it exists
//	response.completed               one answer of the model; its latest tokens count
//	message.created                  answers, thoughts and messages of the tool
//	model.switched                   an answer of another model than the one before
//	error                            errors that the tool reports
//	subagent.start, subagent.stopped a call that ran a sub-agent
//	custom                           every other line or member
//	step.finished, run.finished      at the next prompt, and at the end
//
// A message can be written several times, and only its new content becomes events. Recorded answers
// contain calls without results.
func Events(ctx context.Context, r io.Reader, opts ingest.Options) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		m := ingest.NewEmitter(Source, opts, yield)
		in := bufio.NewReaderSize(r, ingest.HeadBytes)
		head, err := in.Peek(ingest.HeadBytes)
		if err != nil && !errors.Is(err, io.EOF) {
			m.Report(fmt.Errorf("read %s: %w", opts.File, err))
			return
		}
		c := &chat{Emitter: m, opts: opts, written: map[string]*writtenMessage{}, calls: map[string]string{}}
		var complete bool
		switch shapeOf(head) {
		case document:
			complete = m.Documents(ctx, in, c.fragment, "messages")
		case lines, unknown:
			complete = m.Lines(ctx, in, c.line)
		case answers:
			complete = m.Lines(ctx, in, (&answered{Emitter: m, opts: opts}).line)
		}
		if complete {
			c.end()
			m.Finish()
		}
	}
}

type shape int

const (
	unknown  shape = iota
	document       // one object with all messages
	lines          // a line for each message
	answers        // a line for each answer of the model
)

func shapeOf(head []byte) shape {
	o := ingest.Members(bytes.TrimPrefix(head, []byte("\uFEFF")))
	has := func(names ...string) bool { return ingest.Has(o, names...) }
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

func empty(list json.RawMessage) bool { return string(bytes.Join(bytes.Fields(list), nil)) == "[]" }

func oneLine(head []byte) bool {
	first, _, _ := bytes.Cut(head, []byte("\n"))
	return json.Valid(first)
}

// Detect reports whether an input that begins with head comes from Gemini CLI.
func Detect(head []byte, _ string) bool { return shapeOf(head) != unknown }
