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

// Log yields the events of hook payloads that somebody has kept: a JSON array of
// them, or one behind the other. Each is read as of the tool that it looks like.
//
// A payload that nothing tells from an equal one is known by how often it came
// before, others as they are where a hook sends them: importing again adds
// nothing, and what was recorded live stays one thing in the run. Where a payload tells no time, that is the
// input's; where a call has no id, calls and results with equal arguments pair
// in their order, from one file to the other too. What cannot be read is
// reported as an [ingest.LineError], and the rest goes on.
func Log(ctx context.Context, r io.Reader, opts ingest.Options) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		l := &payloadLog{m: ingest.NewEmitter("hook-log", opts, yield), opts: opts, pairs: Memory(), seen: map[string]int{}}
		var whole []byte // the members of a payload that stands alone
		l.m.Documents(ctx, r, func(p ingest.Part) {
			switch {
			case p.End && whole != nil:
				l.read(append(whole, '}'))
				whole = nil
			case p.End:
			case p.Member == "" && p.Element >= 0:
				l.read(p.Text)
			default:
				whole = member(whole, p)
			}
		})
	}
}

// member adds a member to the text of an object.
func member(object []byte, p ingest.Part) []byte {
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
	m     *ingest.Emitter
	opts  ingest.Options
	pairs Pairs
	seen  map[string]int // how often an equal payload came
}

func (l *payloadLog) read(payload json.RawMessage) {
	in := objectOf(payload)
	if in == nil {
		l.m.Fault("not a JSON object", false)
		return
	}
	tool := likely(in)
	c := Context{Tenant: l.opts.Tenant, Pairs: l.pairs}
	c.Now = l.m.Now()
	p, err := tool.parse(payload, c, func(b *build) {
		if b.mark == "" {
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

// likely returns the tool that sends payloads like in.
func likely(in object) *Tool {
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

// geminiSession tells whether an event that two tools call the same is Gemini
// CLI's, which names a transcript in all of them.
func geminiSession(name string, in object) bool {
	switch name {
	case "SessionStart", "SessionEnd", "Notification":
		return in.raw("transcript_path") != nil
	}
	return false
}

// DetectLog tells from the first bytes of an input whether [Log] reads it.
func DetectLog(head []byte, _ string) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\uFEFF")), " \t\r\n")
	if rest, ok := bytes.CutPrefix(head, []byte("[")); ok {
		head = rest
	}
	in := object(ingest.Members(head))
	if in.raw("hook_event_name", "hookName") != nil {
		return in.raw("session_id", "sessionId") != nil
	}
	return in.raw("sessionId") != nil && in.raw("timestamp") != nil && in.raw("type", "uuid", "messages") == nil && copilotGuess(in) != ""
}
