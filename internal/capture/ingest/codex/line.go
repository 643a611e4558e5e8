package codex

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// line is one line of a rollout file or of codex exec --json.
type line struct {
	Type      string          `json:"type"`
	Timestamp string          `json:"timestamp"`
	Payload   json.RawMessage `json:"payload"`

	Thread  string          `json:"thread_id"` // this and the following members are of codex exec
	Item    json.RawMessage `json:"item"`
	Usage   json.RawMessage `json:"usage"`
	Error   rawObject       `json:"error"`
	Message rawObject       `json:"message"`

	text   json.RawMessage // the whole line
	origin ingest.Origin
}

// rawObject is JSON of any shape. Reading it ignores members of an unexpected type.
type rawObject json.RawMessage

// UnmarshalJSON stores a copy of data.
func (r *rawObject) UnmarshalJSON(data []byte) error {
	*r = append((*r)[:0], data...)
	return nil
}

// decode reads the members with the expected type into v.
func (r rawObject) decode(v any) { lenient(json.RawMessage(r), v) }

// lenient reads the members with the expected type into v. The raw member of the
// event has all members.
func lenient(data json.RawMessage, v any) { _ = json.Unmarshal(data, v) }

func (l *line) decode(v any) { lenient(l.Payload, v) }

// bareItems are the types of lines in old rollouts without an envelope.
var bareItems = []string{
	"message", "reasoning", "function_call", "function_call_output", "local_shell_call",
	"custom_tool_call", "custom_tool_call_output", "web_search_call",
}

// parse reads a line. It reports a line that is not an object.
func (s *session) parse(in ingest.Line) (*line, bool) {
	l := &line{}
	if l.text, _ = s.Decode(in, l); l.text == nil { // a line with unexpected types is mapped as far as possible
		return nil, false
	}
	if l.Timestamp == "" && l.streamed() {
		l.origin.ID = s.exec.lineID(l)
	} else {
		l.origin.ID = s.LineID(l.text)
	}
	switch {
	case l.Payload == nil && slices.Contains(bareItems, l.Type):
		l.Type, l.Payload = "response_item", l.text
	case l.Payload == nil && l.Type == "" && s.run == nil && ingest.Members(l.text)["id"] != nil:
		l.Type, l.Payload = "session_meta", l.text
	}
	return l, true
}

// streamed reports whether the line comes from codex exec.
func (l *line) streamed() bool {
	kind, _, dotted := strings.Cut(l.Type, ".")
	return dotted && (kind == "thread" || kind == "turn" || kind == "item") || l.Type == "error"
}

// begins reports whether the line begins a session and names it.
func (l *line) begins() bool { return l.Type == "session_meta" || l.Type == "thread.started" }

// custom emits a custom event for a line without a kind.
func (s *session) custom(l *line, name string) {
	if name == "" {
		name = "untyped"
	}
	data := l.Payload
	if data == nil {
		data = l.text
	}
	s.run.Emit(l.origin, events.Custom, "", events.CustomData{Name: name, Common: raw(data)})
}

func raw(data json.RawMessage) events.Common { return events.Common{Raw: data} }

// callID returns id, or the id of the line if id is not usable.
func (l *line) callID(id string) string {
	if id == "" || !ingest.Usable(id) {
		return l.origin.ID
	}
	return id
}
