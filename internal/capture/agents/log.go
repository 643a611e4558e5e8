package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"path"
	"strconv"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Log yields the events of stored hook payloads. The input is a JSON array of
// payloads, or payloads one after the other. Log guesses the tool of each.
//
// Event ids equal those of the live hook, so importing adds nothing to a recorded
// run. A payload without an identity is identified by its content and the number
// of equal payloads before it, so importing twice adds nothing either. A payload
// without a time gets the time of the input. Calls and results without an id are
// paired in their order. Log reports an unreadable payload as an
// [ingest.LineError] and continues.
func Log(ctx context.Context, r io.Reader, opts ingest.Options) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		l := &payloadLog{m: ingest.NewEmitter("hook-log", opts, yield), opts: opts, ids: NewCallIDs(), seen: map[string]int{}}
		var single []byte // the members of a payload outside of an array
		l.m.Documents(ctx, r, func(p ingest.Fragment) {
			switch {
			case p.End && single != nil:
				l.read(append(single, '}'))
				single = nil
			case p.End:
			case p.Member == "" && p.Element >= 0:
				l.read(p.Text)
			default:
				single = appendMember(single, p)
			}
		})
	}
}

// appendMember adds a member to the text of an object.
func appendMember(object []byte, p ingest.Fragment) []byte {
	separator := byte(',')
	if object == nil {
		separator = '{'
	}
	object = append(object, separator)
	object = append(object, document(p.Member).Raw()...)
	object = append(object, ':')
	return append(object, p.Text...)
}

// payloadLog is the state of one input.
type payloadLog struct {
	m    *ingest.Emitter
	opts ingest.Options
	ids  CallIDs
	seen map[string]int // counts equal payloads
}

func (l *payloadLog) read(payload json.RawMessage) {
	in := objectOf(payload)
	if in == nil {
		l.m.Fault("not a JSON object", false)
		return
	}
	tool := guessTool(in)
	c := Context{Tenant: l.opts.Tenant, CallIDs: l.ids}
	c.Now = l.m.Now()
	p, err := tool.parse(payload, c, func(b *builder) {
		if b.identity == "" {
			l.seen[string(b.raw)]++
			b.identify("log", string(b.raw), strconv.Itoa(l.seen[string(b.raw)]))
		}
	})
	if err != nil {
		l.m.Fault("not a hook payload", false)
		return
	}
	for _, e := range p.Events {
		l.m.Send(e)
	}
}

// guessTool returns the tool that sends payloads like in.
func guessTool(in object) *Tool {
	name := in.text("hook_event_name")
	_, timed := in.moment("timestamp")
	switch {
	case in.raw("properties") != nil, in.raw("input") != nil && in.raw("output") != nil:
		return openCode
	case in.raw("sessionId") != nil:
		return copilotCLI
	case in.raw("turn_id", "turn-id") != nil && in.raw("prompt_id") == nil,
		strings.HasPrefix(path.Base(in.text("transcript_path")), "rollout-"):
		return codex
	case strings.HasPrefix(name, "Before"), strings.HasPrefix(name, "After"), name == "PreCompress", timed && geminiSession(name, in):
		return geminiCLI
	case timed:
		return copilotCLI
	}
	return claudeCode
}

// geminiSession reports whether an event whose name two tools share comes from
// Gemini CLI. Only Gemini CLI names a transcript in these events.
func geminiSession(name string, in object) bool {
	switch name {
	case "SessionStart", "SessionEnd", "Notification":
		return in.raw("transcript_path") != nil
	}
	return false
}

// DetectLog reports whether [Log] reads an input with these first bytes.
func DetectLog(head []byte, _ string) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\uFEFF")), " \t\r\n")
	head = bytes.TrimPrefix(head, []byte("["))
	in := object(ingest.Members(head))
	if in.raw("hook_event_name", "hookName") != nil {
		return in.raw("session_id", "sessionId") != nil
	}
	return in.raw("sessionId") != nil && in.raw("timestamp") != nil && in.raw("type", "uuid", "messages") == nil && copilotGuess(in) != ""
}
