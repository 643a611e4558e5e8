package codex

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// line is one line of a rollout file, or of codex exec --json.
type line struct {
	Type      string          `json:"type"`
	Timestamp string          `json:"timestamp"`
	Payload   json.RawMessage `json:"payload"`

	Thread  string          `json:"thread_id"` // from here on those of codex exec
	Item    json.RawMessage `json:"item"`
	Usage   json.RawMessage `json:"usage"`
	Error   rawObject       `json:"error"`
	Message rawObject       `json:"message"`

	text  json.RawMessage // all of it
	place ingest.Place
}

// rawObject is JSON of any shape, read as far as it has the expected one.
type rawObject json.RawMessage

// UnmarshalJSON keeps a copy of data.
func (r *rawObject) UnmarshalJSON(data []byte) error {
	*r = append((*r)[:0], data...)
	return nil
}

// decode reads into v what fits: what does not stays as it is.
func (r rawObject) decode(v any) { lenient(json.RawMessage(r), v) }

// lenient reads data into v as far as it fits. What does not fit is in the raw
// JSON of the event all the same.
func lenient(data json.RawMessage, v any) { _ = json.Unmarshal(data, v) }

func (l *line) decode(v any) { lenient(l.Payload, v) }

// bareItems are the types of lines of old rollouts, which have no envelope.
var bareItems = []string{
	"message", "reasoning", "function_call", "function_call_output", "local_shell_call",
	"custom_tool_call", "custom_tool_call_output", "web_search_call",
}

// parse reads a line, and reports one that is no object.
func (s *session) parse(in ingest.Line) (*line, bool) {
	l := &line{text: bytes.Clone(bytes.TrimLeft(in.Text, " \t"))}
	err := json.Unmarshal(l.text, l)
	switch {
	case err != nil && !json.Valid(l.text):
		s.NotJSON(in, err, false)
		return nil, false
	case l.text[0] != '{':
		s.Fault("not a JSON object", false)
		return nil, false
	case err != nil:
		s.NotJSON(in, err, true)
	}
	l.place.ID = s.lineID(l)
	switch {
	case l.Payload == nil && slices.Contains(bareItems, l.Type):
		l.Type, l.Payload = "response_item", l.text
	case l.Payload == nil && l.Type == "" && s.run == nil && ingest.Members(l.text)["id"] != nil:
		l.Type, l.Payload = "session_meta", l.text
	}
	return l, true
}

// lineID names the line: in a rollout by what it says, which has its time in it.
// The lines of codex exec have none, and those of two turns of one session can be
// the same: there, what came before is part of the name.
func (s *session) lineID(l *line) string {
	if l.Timestamp != "" || !l.streamed() {
		return s.LineID(l.text)
	}
	s.chain = s.LineID(append([]byte(s.chain), l.text...))
	return s.chain
}

// streamed reports whether the line is one of codex exec.
func (l *line) streamed() bool {
	kind, _, dotted := strings.Cut(l.Type, ".")
	return dotted && (kind == "thread" || kind == "turn" || kind == "item") || l.Type == "error"
}

// begins reports whether the line begins a session and says which.
func (l *line) begins() bool { return l.Type == "session_meta" || l.Type == "thread.started" }

// custom keeps a line that has no kind of its own.
func (s *session) custom(l *line, name string) {
	if name == "" {
		name = "untyped"
	}
	data := l.Payload
	if data == nil {
		data = l.text
	}
	s.run.Emit(l.place, events.Custom, "", events.CustomData{Name: name, Common: raw(data)})
}

func raw(data json.RawMessage) events.Common { return events.Common{Raw: data} }

// callID returns the id of a call, or one that the line gives it.
func (l *line) callID(id string) string {
	if id == "" || !ingest.Usable(id) {
		return l.place.ID
	}
	return id
}
