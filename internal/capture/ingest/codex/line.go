package codex

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type line struct {
	Type      string          `json:"type"`
	Timestamp string          `json:"timestamp"`
	Payload   json.RawMessage `json:"payload"`
	Thread    string          `json:"thread_id"` // this and the following members come from codex exec
	Item      json.RawMessage `json:"item"`
	Usage     json.RawMessage `json:"usage"`
	Error     json.RawMessage `json:"error"`
	Message   json.RawMessage `json:"message"`

	text   json.RawMessage
	origin ingest.Origin
}

// lenient decodes as much as it can and ignores errors, because the event also contains the raw
// text.
func lenient(data json.RawMessage, v any) { _ = json.Unmarshal(data, v) }

func (l *line) decode(v any) { lenient(l.Payload, v) }

var bareItems = []string{
	"message", "reasoning", "function_call", "function_call_output", "local_shell_call",
	"custom_tool_call", "custom_tool_call_output", "web_search_call",
}

func (s *session) parse(in ingest.Line) (*line, bool) {
	l := &line{}
	if l.text, _ = s.Decode(in, l); l.text == nil { // if some types are unexpected, the other members are mapped
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

func (l *line) streamed() bool {
	kind, _, dotted := strings.Cut(l.Type, ".")
	return dotted && (kind == "thread" || kind == "turn" || kind == "item") || l.Type == "error"
}

func (l *line) begins() bool { return l.Type == "session_meta" || l.Type == "thread.started" }

func (s *session) custom(l *line, name string) {
	data := l.Payload
	if data == nil {
		data = l.text
	}
	s.run.Emit(l.origin, events.Custom, "", events.CustomData{Name: cmp.Or(name, "untyped"), Common: raw(data)})
}

func raw(data json.RawMessage) events.Common { return events.Common{Raw: data} }

func (l *line) callID(id string) string {
	if id == "" || !ingest.Usable(id) {
		return l.origin.ID
	}
	return id
}
