package agents

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// build is a payload on its way into events.
type build struct {
	tool *Tool
	c    Context
	raw  json.RawMessage
	in   object
	name string    // of the hook event, as the tables of the tools have it
	at   time.Time // when it happened
	mark string    // what no other payload has; empty if there is nothing
	here place
	p    Payload

	known func(b *build)             // called before the first event is made
	ended func(b *build, c call) end // how a call ended that Claude Code or Codex reports
}

// place is where in which run something happens.
type place struct {
	run, session, step            string
	agent, parentAgent, parentRun string
}

// subRun is the run of a sub-agent that has no session of its own.
func (w place) subRun(agent string) place {
	w.run, w.parentRun = w.session+"/"+agent, w.session
	w.parentAgent, w.agent = w.agent, agent
	return w
}

// event adds an event of the payload.
func (b *build) event(w place, kind events.Kind, call string, payload any) {
	b.settle()
	if w.run == "" && kind != events.Custom {
		w.run = unknownRun
	}
	e := events.Event{
		Source: b.tool.name, Type: kind.Type(), Subject: w.run, Time: b.at, Tenant: b.c.Tenant,
		Run: w.run, Step: w.step, Session: w.session, Agent: w.agent,
		ParentAgent: w.parentAgent, ParentRun: w.parentRun, ToolCall: call,
	}
	e.ID = events.NewID()
	if b.mark != "" {
		e.ID, b.p.known = events.DeriveID(b.c.Tenant, "hook", b.tool.name, b.mark, string(kind), w.run), true
	}
	if e.SetData(payload) != nil { // not reached: payloads are plain data
		e.Data = nil
	}
	b.p.Events = append(b.p.Events, e)
}

// unknownRun is the run of what does not say of which session it is.
const unknownRun = "unknown"

// whole adds the event that keeps the text of a payload which no event can hold
// as it is.
func (b *build) whole(payload []byte) {
	b.event(b.here, events.Custom, "", events.CustomData{Name: b.p.Event, Data: document(textKept(payload)).Raw()})
	if e := &b.p.Events[len(b.p.Events)-1]; b.mark != "" {
		e.ID = events.DeriveID(b.c.Tenant, "hook", b.tool.name, b.mark, "whole")
	}
}

// kept is what is kept of a payload that is not kept as JSON.
type kept struct {
	Bytes  int    `json:"bytes"`
	Text   string `json:"text,omitempty"`
	Base64 []byte `json:"base64,omitempty"`
}

// maxKeptText bounds what is kept of a payload that cannot be read.
const maxKeptText = 16 << 20

func textKept(payload []byte) kept {
	k := kept{Bytes: len(payload)}
	if payload = payload[:min(len(payload), maxKeptText)]; utf8.Valid(payload) {
		k.Text = string(payload)
	} else {
		k.Base64 = payload
	}
	return k
}

// settle ends the time in which it may still be said what the payload is known
// by.
func (b *build) settle() {
	if b.known != nil {
		known := b.known
		b.known = nil
		known(b)
	}
}

// main adds the event that has the payload in its data, and says of what hooks
// are told at its point.
func (b *build) main(w place, kind events.Kind, call string, payload any) {
	b.p.main = len(b.p.Events)
	b.event(w, kind, call, payload)
	e := &b.p.Events[b.p.main]
	b.p.Document = hooks.Document{
		Point: kind, Payload: hooks.FromRaw(e.Data),
		Meta: hooks.Meta{
			Tenant: e.Tenant, Run: e.Run, Step: e.Step, Session: e.Session, Agent: e.Agent,
			ParentAgent: e.ParentAgent, ParentRun: e.ParentRun, ToolCall: e.ToolCall, TeamRoot: b.p.Cwd, Time: e.Time,
		},
	}
	e.Data = withRaw(e.Data, b.raw)
}

// decides says that hooks decide on d, and how the payload of the main event
// reads once they have.
func (b *build) decides(d hooks.Document, again func(o events.Outcome, out hooks.DocumentOutcome) any) {
	d.Point, d.Meta = b.p.Document.Point, b.p.Document.Meta
	b.p.Decides, b.p.Document, b.p.again = true, d, again
}

// custom adds the event of a payload that stands for nothing else.
func (b *build) custom() {
	b.main(b.here, events.Custom, "", events.CustomData{Name: b.p.Event})
	b.p.Document = hooks.Document{}
}

// identify says that parts are what no other payload has.
func (b *build) identify(parts ...string) {
	sum := sha256.New()
	for _, part := range parts {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	b.mark = hex.EncodeToString(sum.Sum(nil)[:16])
}

// identifyRaw says that the payload as a whole is what no other payload has.
func (b *build) identifyRaw() { b.identify(b.name, string(b.raw)) }

// maxID leaves room for two ids in one attribute.
const maxID = 120

// ident returns an id as an attribute can hold it: one that is too long or has
// control characters is replaced by its hash.
func ident(s string) string {
	ok := len(s) <= maxID && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r < 0x20 || r >= 0x7f && r <= 0x9f || r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe
	})
	if ok {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + hex.EncodeToString(sum[:16])
}

// clip returns the first n bytes of s at most, cut between characters and
// marked where something was cut off.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// document encodes what hooks get to see.
func document(v any) hooks.JSON {
	text, err := hooks.Marshal(v)
	if err != nil { // not reached: payloads are plain data
		return ""
	}
	return text
}
