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

// Log yields the events of a file with stored hook payloads. The file contains a JSON array or a
// sequence of objects.
//
// If opts.HookKey is the key of the data directory, most events get the same ids as when the hooks
// were called. The outbox then drops them as duplicates.
func Log(ctx context.Context, r io.Reader, opts ingest.Options) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		l := &payloadLog{m: ingest.NewEmitter("hook-log", opts, yield), opts: opts, ids: NewCallIDs(), seen: map[string]int{}, calls: map[string]bool{}, open: map[string]map[string]bool{}, runs: map[string]*loggedRun{}}
		var single ingest.Object
		if l.m.Documents(ctx, r, func(p ingest.Fragment) {
			switch {
			case p.End && !single.Empty():
				l.read(single.JSON())
				single = ingest.Object{}
			case p.End:
			case p.Member == "" && p.Element >= 0:
				l.read(p.Text)
			default:
				single.Add(p.Member, p.Text)
			}
		}) {
			l.end()
		}
	}
}

type payloadLog struct {
	m    *ingest.Emitter
	opts ingest.Options
	ids  CallIDs
	seen map[string]int

	calls map[string]bool            // tool.before events of this log
	open  map[string]map[string]bool // calls without a result, by run
	runs  map[string]*loggedRun
	order []*loggedRun
}

type loggedRun struct {
	last  events.Event
	ended bool
}

func (l *payloadLog) read(payload json.RawMessage) {
	in := objectOf(payload)
	if in == nil {
		l.m.Fault("not a JSON object", false)
		return
	}
	tool := guessTool(in)
	c := Context{Tenant: l.opts.Tenant, Now: l.m.Now(), CallIDs: l.ids, IDKey: l.opts.HookKey}
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
	if l.stopsSubagent(p.Events) {
		leftInTurn(p.Events)
	}
	for _, e := range p.Events {
		if e.Time.Equal(c.Now) {
			e.Time = c.Now // Send marks its location, which Parse removes
		}
		l.before(e, in)
		l.note(e)
		l.m.Send(e)
	}
}

func (l *payloadLog) before(e events.Event, in object) {
	key := e.Run + "\x00" + e.ToolCall
	if e.Kind() != events.ToolResult || e.ToolCall == "" || l.calls[key] {
		return
	}
	d, err := events.Payload[events.ToolResultData](e)
	if err != nil {
		return
	}
	call := e
	call.Type, call.ID = events.ToolBefore.Type(), events.DeriveID(e.ID, "call")
	if call.SetData(events.ToolBeforeData{Tool: d.Tool, Args: in.raw("tool_input", "toolArgs", "toolInput")}) == nil && call.Validate() == nil {
		l.note(call)
		l.m.Send(call)
	}
}

func (l *payloadLog) note(e events.Event) {
	l.noteCall(e)
	if e.Run == "" {
		return
	}
	r := l.runs[e.Run]
	if r == nil {
		r = &loggedRun{}
		l.runs[e.Run] = r
		l.order = append(l.order, r)
	}
	r.ended = r.ended || e.Kind() == events.RunFinished
	if !e.Time.Before(r.last.Time) {
		r.last = e
	}
}

func (l *payloadLog) noteCall(e events.Event) {
	switch {
	case e.ToolCall == "":
	case e.Kind() == events.ToolBefore:
		l.calls[e.Run+"\x00"+e.ToolCall] = true
		if l.open[e.Run] == nil {
			l.open[e.Run] = map[string]bool{}
		}
		l.open[e.Run][e.ToolCall] = true
	case e.Kind() == events.ToolResult, e.DeniesCall():
		delete(l.open[e.Run], e.ToolCall)
	}
}

// stopsSubagent reports whether the events end a sub-agent while some of its calls have no result.
func (l *payloadLog) stopsSubagent(list []events.Event) bool {
	return len(list) > 1 && list[0].Kind() == events.SubagentStopped && len(l.open[list[1].Run]) > 0
}

func (l *payloadLog) end() {
	if l.opts.Open {
		return
	}
	for _, r := range l.order {
		if r.ended {
			continue
		}
		e := r.last
		e.Type, e.Step, e.ToolCall = events.RunFinished.Type(), "", ""
		e.ID = events.DeriveID(r.last.ID, "end of log")
		data := events.RunFinishedData{Reason: events.ReasonEndOfLog}
		data.SetStatus(events.RunUnknown)
		if e.SetData(data) == nil {
			l.m.Send(e)
		}
	}
}

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

func geminiSession(name string, in object) bool {
	switch name {
	case "SessionStart", "SessionEnd", "Notification":
		return in.raw("transcript_path") != nil
	}
	return false
}

// DetectLog reports whether [Log] can read an input that begins with head.
func DetectLog(head []byte, _ string) bool {
	head = bytes.TrimPrefix(ingest.Opening(head), []byte("["))
	in := object(ingest.Members(head))
	if in.raw("hook_event_name", "hookName") != nil {
		return in.raw("session_id", "sessionId") != nil
	}
	return in.raw("sessionId") != nil && in.raw("timestamp") != nil && in.raw("type", "uuid", "messages") == nil && copilotGuess(in) != ""
}
