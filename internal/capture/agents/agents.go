package agents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Tool is a coding agent: how its hook payloads read and what its hooks answer.
// It is safe for concurrent use.
type Tool struct {
	name  string
	read  func(b *build)                                 // makes events of a payload
	reply func(p Payload, o hooks.DocumentOutcome) Reply // of an outcome that the tool can be told
	can   map[events.Kind]power                          // what can be said where
}

// power is what a tool lets its hooks do.
type power uint8

const (
	mayDeny power = 1 << iota
	mayAsk
)

// tools are in the order of their names.
var tools = []*Tool{claudeCode, codex, copilotCLI, geminiCLI, openCode}

// Names returns the names of the tools, in order.
func Names() []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.name
	}
	return names
}

// Named returns the tool of a name that [Names] lists.
func Named(name string) (*Tool, error) {
	for _, t := range tools {
		if t.name == name {
			return t, nil
		}
	}
	return nil, fmt.Errorf("agent %q: there are %s", name, strings.Join(Names(), ", "))
}

// Name returns the name of t, which is the source of its events.
func (t *Tool) Name() string { return t.name }

// Context is what a payload does not say.
type Context struct {
	Tenant string
	Now    time.Time // when it was received: the time of what has none
	Event  string    // the name of the hook event, where the payload may not say; else empty
	Pairs  Pairs     // pairs calls and results that have no id; nil: they stay unpaired
}

// Payload is a hook payload, read.
type Payload struct {
	// Events are what it reports, at least one. Where hooks are to decide, they
	// are what to record should nobody do so.
	Events []events.Event
	// Decides tells whether the tool waits for an answer that changes anything.
	Decides bool
	// Document is what hooks are asked, or told where nothing can be decided.
	// Its Point is empty where there is no hook point.
	Document hooks.Document
	// Cwd is the folder that the agent works in, empty where it does not say.
	Cwd string
	// Event is the tool's own name of the hook event, empty where unknown.
	Event string

	tool   *Tool
	raw    json.RawMessage // as it is in the data of the main event
	main   int             // the index of that event
	again  func(o events.Outcome, out hooks.DocumentOutcome) any
	shape  string // which of several shapes of one dialect the payload has
	known  bool   // its events have the same ids whenever it comes
	denied func() // tells Pairs that the call waits for no result; may be nil
}

// Reply is the answer to a hook: what the hook command prints and how it exits.
type Reply struct {
	Stdout []byte // empty, or one JSON document and a line feed, exactly as the tool expects it
	Stderr string
	Exit   int
}

// Parse reads a payload. It fails only for what is no JSON object; then
// [Tool.Unreadable] tells what to record.
func (t *Tool) Parse(payload []byte, c Context) (Payload, error) {
	return t.parse(payload, c, func(*build) {})
}

// parse reads a payload. It calls known once it is known where the payload comes
// from and what tells it from others, before any event is made.
func (t *Tool) parse(payload []byte, c Context, known func(b *build)) (Payload, error) {
	if objectOf(payload) == nil {
		return Payload{}, fmt.Errorf("parse %s payload of %d bytes: not a JSON object", t.name, len(payload))
	}
	b := t.build(c)
	raw, ok := storable(payload)
	if !ok { // what is nested too deep for an event is cut off, so that the rest can be judged
		if raw, _ = storable(pruned(payload)); raw == nil {
			return t.Unreadable(payload, c), nil
		}
	}
	b.raw, b.p.raw, b.in, b.known = raw, raw, objectOf(raw), known
	t.read(b)
	valid := !slices.ContainsFunc(b.p.Events, func(e events.Event) bool { return e.Validate() != nil })
	if !valid { // no reason not to judge it
		b.p.Events, b.p.again, b.here = nil, nil, place{agent: t.name}
	}
	if !ok || !valid {
		b.whole(payload)
	}
	return b.p, nil
}

func (t *Tool) build(c Context) *build {
	if c.Now.IsZero() {
		c.Now = time.Now()
	}
	b := &build{tool: t, c: c, at: c.Now.UTC(), here: place{agent: t.name}}
	b.p.tool = t
	return b
}

// Unreadable returns the custom event that keeps a payload which cannot be
// read: its text, or its bytes in base64, or the first part of them where they
// are too many. There is nothing to decide about it.
func (t *Tool) Unreadable(payload []byte, c Context) Payload {
	b := t.build(c)
	b.p.Event = clip(c.Event, maxID)
	b.event(b.here, events.Custom, "", events.CustomData{Name: b.p.Event, Data: document(textKept(payload)).Raw()})
	return b.p
}

// Decided returns what to record after hooks have decided o: the Events of p,
// the one of the decision with the verdict, the reason, the patched arguments
// and the executions. A question that the tool cannot ask is recorded as the
// denial that it is answered with, a denial that it does not heed as none, with
// the reason. A denied call waits for no result any more. The event of a
// decision that says something has an id of its own: where the payload also came
// to hooks that said something else, neither event hides the other.
func (p Payload) Decided(o hooks.DocumentOutcome) []events.Event {
	if p.again == nil {
		return p.Events
	}
	o = p.tellable(o)
	if o.Verdict == hooks.Deny && p.denied != nil {
		p.denied()
	}
	list := slices.Clone(p.Events)
	e := &list[p.main]
	data := events.Outcome{Verdict: o.Verdict, Reason: o.Reason, Context: o.Context, Executions: o.Executions}
	if e.SetData(p.again(data, o)) != nil || e.Validate() != nil { // a patch that no event can hold
		o.Args, o.Value = "", ""
		if e.SetData(p.again(data, o)) != nil {
			return p.Events
		}
	}
	e.Data = withRaw(e.Data, p.rawAfter(o))
	if said := p.said(o); said != "" && p.known {
		e.ID = events.DeriveID(e.ID, said)
	}
	return list
}

// said returns what the tool is told of a decision, empty without an opinion.
func (p Payload) said(o hooks.DocumentOutcome) string {
	var args hooks.JSON
	if o.Verdict == hooks.None {
		o.Verdict, o.Reason = "", ""
	}
	if now, changed := p.newArgs(o); changed {
		args = now
	}
	if o.Verdict == "" && args == "" && o.Context == "" {
		return ""
	}
	return strings.Join([]string{string(o.Verdict), o.Reason, o.Context, string(args)}, "\x00")
}

// rawAfter returns the payload as it is to be recorded: where a hook has
// changed the result of a call, the one that it has changed is not kept.
func (p Payload) rawAfter(o hooks.DocumentOutcome) json.RawMessage {
	if !p.changesEnd(o) {
		return p.raw
	}
	rest := objectOf(p.raw)
	for _, name := range resultMembers {
		delete(rest, name)
	}
	return document(rest).Raw()
}

// tellable returns o as it can be told the tool at p.
func (p Payload) tellable(o hooks.DocumentOutcome) hooks.DocumentOutcome {
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

// Reply returns the answer to p in the dialect of t. Without an opinion it is
// what the tool takes for none: nothing.
func (t *Tool) Reply(p Payload, o hooks.DocumentOutcome) Reply {
	if !p.Decides {
		return Reply{}
	}
	return t.reply(p, p.tellable(o))
}

// FailClosed returns the answer that denies p because nobody could decide.
// What cannot be read is denied by the exit status, which all tools know. Where
// the tool lets nothing be denied there is no answer.
func (t *Tool) FailClosed(p Payload, reason string) Reply {
	if len(p.raw) == 0 {
		return Reply{Stderr: reason, Exit: 2}
	}
	return t.Reply(p, hooks.DocumentOutcome{Point: p.Document.Point, Verdict: hooks.Deny, Reason: reason})
}
