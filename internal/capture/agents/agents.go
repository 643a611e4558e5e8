package agents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Tool parses the hook payloads of one coding agent and encodes the replies. It is safe for
// concurrent use.
type Tool struct {
	name  string
	read  func(in object, b *builder)
	reply func(p Payload, o hooks.DocumentOutcome) Reply // receives only outcomes that the tool supports
	can   map[events.Kind]power
}

type power uint8

const (
	mayDeny power = 1 << iota
	mayAsk
)

var tools = []*Tool{claudeCode, codex, copilotCLI, geminiCLI, openCode}

// Names returns the sorted names of the supported coding agents.
func Names() []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.name
	}
	return names
}

// Named returns the tool with the given name. It returns an error if [Names] does not contain the
// name.
func Named(name string) (*Tool, error) {
	for _, t := range tools {
		if t.name == name {
			return t, nil
		}
	}
	return nil, fmt.Errorf("unknown agent %q; there are %s", name, strings.Join(Names(), ", "))
}

// Name returns the name of the agent, which is also the source of its events.
func (t *Tool) Name() string { return t.name }

// Context contains facts about a hook call that the payload of the hook does not contain, such as
// the tenant.
type Context struct {
	Tenant  string
	Now     time.Time // time of receipt, used if the payload has no time
	Event   string    // name of the hook event, used if the payload has no name; may be empty
	CallIDs CallIDs   // assigns ids to calls; if nil, equal calls without an id get the same id
	IDKey   []byte    // secret for event ids; if nil, the ids are predictable
}

// Payload is the parsed input of one hook call.
type Payload struct {
	// Events contains at least one event. If hooks have decided about the payload, record the
	// events that [Payload.Decided] returns instead.
	Events []events.Event
	// Decides reports whether the agent waits for a decision about the payload.
	Decides bool
	// Document is the input of the hooks. If its Point is empty, no hook runs for the payload.
	Document hooks.Document
	// Cwd is the working folder of the agent, or empty if it is unknown.
	Cwd string
	// Event is the agent's name for the hook event, or empty.
	Event string

	tool      *Tool
	raw       json.RawMessage
	main      int
	encode    encoder
	shape     string // format of the payload, for tools with several
	stableIDs bool   // a second parse of the same payload gives the same event ids
	denied    func() // marks the call as denied in CallIDs; may be nil

	// deniedCall is like denied, but for a payload that states no call id. It returns the id of the
	// denied call, or "" if the id is unknown. It may be nil.
	deniedCall func() string
}

// Reply is the output and the exit status that the hook command returns to the agent.
type Reply struct {
	Stdout []byte // empty, or one JSON document and a line feed
	Stderr string
	Exit   int
}

// Parse reads the payload of a hook. It returns an error if the payload is not a JSON object. The
// caller should then record the events of [Tool.Unreadable].
func (t *Tool) Parse(payload []byte, c Context) (Payload, error) {
	return t.parse(payload, c, nil)
}

func (t *Tool) parse(payload []byte, c Context, identified func(b *builder)) (Payload, error) {
	if objectOf(payload) == nil {
		return Payload{}, fmt.Errorf("parse %s payload of %d bytes: not a JSON object", t.name, len(payload))
	}
	b := t.builder(c)
	raw, ok := storable(payload)
	if !ok { // hooks get the payload without values that are nested too deep for an event
		if raw, _ = storable(pruned(payload)); raw == nil {
			return t.Unreadable(payload, c), nil
		}
	}
	b.raw, b.p.raw, b.identified = raw, raw, identified
	t.read(objectOf(raw), b)
	valid := !slices.ContainsFunc(b.p.Events, func(e events.Event) bool { return e.Validate() != nil })
	if !valid { // hooks still judge the payload
		b.p.Events, b.p.encode, b.scope = nil, nil, scope{agent: t.name}
	}
	if !ok || !valid {
		b.unstorable(payload)
	}
	return b.p, nil
}

func (t *Tool) builder(c Context) *builder {
	if c.Now.IsZero() {
		c.Now = time.Now()
	}
	b := &builder{tool: t, context: c, at: c.Now.UTC(), scope: scope{agent: t.name}}
	b.p.tool = t
	return b
}

// Unreadable returns a Payload for input that Parse rejects. It contains one event with the first
// 16 MiB of the input.
func (t *Tool) Unreadable(payload []byte, c Context) Payload {
	b := t.builder(c)
	b.p.Event = ingest.Clip(c.Event, ingest.MaxID)
	b.unstorable(payload)
	return b.p
}

// Decided returns the events to record after the hooks have decided. The events state what the
// agent really does, which can differ from the decision. For example, some agents cannot ask a
// person.
func (p Payload) Decided(o hooks.DocumentOutcome) []events.Event {
	if p.encode == nil {
		return p.Events
	}
	o = p.supported(o)
	if o.Verdict == hooks.Deny && p.denied != nil {
		p.denied()
	}
	list := slices.Clone(p.Events)
	e := &list[p.main]
	if o.Verdict == hooks.Deny && p.deniedCall != nil {
		e.ToolCall = p.deniedCall()
	}
	data := events.Outcome{Verdict: o.Verdict, Reason: o.Reason, Context: o.Context, Executions: o.Executions}
	if e.SetData(p.encode(data, o)) != nil || e.Validate() != nil { // the changes do not fit into an event
		o.Args, o.Value = "", ""
		if e.SetData(p.encode(data, o)) != nil {
			return p.Events
		}
	}
	e.Data = withRaw(e.Data, p.rawAfter(o))
	if answer := p.answerKey(o); answer != "" && p.stableIDs {
		e.ID = events.DeriveID(e.ID, answer)
	}
	return list
}

func (p Payload) answerKey(o hooks.DocumentOutcome) string {
	var args hooks.JSON
	if o.Verdict == hooks.None { // None and an empty verdict mean the same
		o.Verdict = ""
	}
	if now, changed := p.newArgs(o); changed {
		args = now
	}
	if o.Verdict == "" && args == "" && o.Reason+o.Context == "" {
		return ""
	}
	return strings.Join([]string{string(o.Verdict), o.Reason, o.Context, string(args)}, "\x00")
}

func (p Payload) rawAfter(o hooks.DocumentOutcome) json.RawMessage {
	if !p.changesResult(o) {
		return p.raw
	}
	members := objectOf(p.raw)
	for _, name := range resultMembers {
		delete(members, name)
	}
	return document(members).Raw()
}

func (p Payload) supported(o hooks.DocumentOutcome) hooks.DocumentOutcome {
	can := p.tool.can[p.Document.Point]
	if o.Verdict == hooks.Ask && can&mayAsk == 0 {
		o.Verdict = hooks.Deny
		o.Reason = cmp.Or(o.Reason, "a hook wants a person to decide, and "+p.tool.name+" cannot ask here")
	}
	switch {
	case o.Verdict == hooks.Deny && can&mayDeny == 0:
		o.Verdict = hooks.None
		o.Reason = strings.TrimSuffix(p.tool.name+" lets no hook deny this: "+o.Reason, ": ")
	case o.Verdict == hooks.Deny, o.Verdict == hooks.Ask:
		o.Reason = cmp.Or(strings.TrimSpace(o.Reason), "denied by a hook")
	}
	return o
}

// Reply encodes the outcome of the hooks in the agent's format. The reply is empty if the agent
// does not wait for an answer.
func (t *Tool) Reply(p Payload, o hooks.DocumentOutcome) Reply {
	if !p.Decides {
		return Reply{}
	}
	return t.reply(p, p.supported(o))
}

// FailClosed returns a reply that denies the payload, for use when the hooks could not decide. The
// reply is empty if the agent cannot deny this payload.
func (t *Tool) FailClosed(p Payload, reason string) Reply {
	if len(p.raw) == 0 {
		return Reply{Stderr: reason, Exit: 2}
	}
	return t.Reply(p, hooks.DocumentOutcome{Point: p.Document.Point, Verdict: hooks.Deny, Reason: reason})
}

// Closed returns a reply that denies every call of this hook event, for use when the hook command
// cannot run. The reply is empty if the agent cannot deny this event.
func (t *Tool) Closed(event, reason string) Reply {
	p, err := t.Parse([]byte(`{"tool_name":"any"}`), Context{Event: event})
	if err != nil {
		return Reply{}
	}
	return t.FailClosed(p, reason)
}
