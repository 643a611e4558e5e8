package agents

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

type builder struct {
	tool     *Tool
	context  Context
	raw      json.RawMessage
	at       time.Time
	identity string // unique to the payload; may be empty
	scope    scope
	p        Payload

	identified func(b *builder) // called once, before the first event; may be nil
}

type scope struct {
	run, session, step            string
	agent, parentAgent, parentRun string
}

func (s scope) subagent(agent string) scope {
	s.run, s.parentRun = s.session+"/"+agent, s.session
	s.parentAgent, s.agent = s.agent, agent
	return s
}

const unknownRun = "unknown"

func (b *builder) event(s scope, kind events.Kind, call string, payload any) {
	b.settle()
	if s.run == "" && kind != events.Custom {
		s.run = unknownRun
	}
	e := events.Event{
		Source: b.tool.name, Type: kind.Type(), Subject: s.run, Time: b.at, Tenant: b.context.Tenant,
		Run: s.run, Step: s.step, Session: s.session, Agent: s.agent,
		ParentAgent: s.parentAgent, ParentRun: s.parentRun, ToolCall: call,
	}
	e.ID = events.NewID()
	if b.identity != "" {
		e.ID, b.p.stableIDs = b.deriveID(string(kind), s.run), true
	}
	if e.SetData(payload) != nil { // unreachable: payloads are plain data
		e.Data = nil
	}
	b.p.Events = append(b.p.Events, e)
}

// deriveID derives an id with a secret key. Without the key, a client could predict the id and use
// it first, and the real event would look like a duplicate.
func (b *builder) deriveID(parts ...string) string {
	id := events.DeriveID(append([]string{b.context.Tenant, "hook", b.tool.name, b.identity}, parts...)...)
	if len(b.context.IDKey) == 0 {
		return id
	}
	mac := hmac.New(sha256.New, b.context.IDKey)
	mac.Write([]byte(id))
	return events.DeriveID(string(mac.Sum(nil)))
}

func (b *builder) enter(session string) {
	b.scope.run, b.scope.session = ident(session), ident(session)
}

// settle must run before the first event is built, because event ids depend on the payload's
// identity, which identified may set.
func (b *builder) settle() {
	if b.identified != nil {
		identified := b.identified
		b.identified = nil
		identified(b)
	}
}

func (b *builder) main(s scope, kind events.Kind, call string, payload any) {
	b.p.main = len(b.p.Events)
	b.event(s, kind, call, payload)
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

type encoder func(o events.Outcome, out hooks.DocumentOutcome) any

func (b *builder) decides(d hooks.Document, encode encoder) {
	d.Point, d.Meta = b.p.Document.Point, b.p.Document.Meta
	b.p.Decides, b.p.Document, b.p.encode = true, d, encode
}

func (b *builder) withoutHooks() { b.p.Document = hooks.Document{} }

func (b *builder) custom() {
	b.main(b.scope, events.Custom, "", events.CustomData{Name: b.p.Event})
	b.withoutHooks()
}

// identify sets the identity from which event ids are derived. Two payloads must not have the same
// values, because their events would count as duplicates.
func (b *builder) identify(values ...string) {
	sum := sha256.New()
	for _, v := range values {
		sum.Write([]byte(v))
		sum.Write([]byte{0})
	}
	b.identity = hex.EncodeToString(sum.Sum(nil)[:16])
}

func (b *builder) identifyRaw(event string) { b.identify(event, string(b.raw)) }

func (b *builder) begin(prompt string) {
	b.settle()
	k := Key{Session: b.session(), Call: ingest.PromptKey(prompt)}
	b.scope.step = promptID(k, 0)
	if b.context.CallIDs != nil {
		b.scope.step = b.context.CallIDs.Prompt(k, b.identity)
	}
}

func (b *builder) latest() {
	if b.context.CallIDs != nil {
		b.scope.step = b.context.CallIDs.Step(b.session())
	}
}

func (b *builder) unstorable(payload []byte) {
	b.event(b.scope, events.Custom, "", events.CustomData{Name: b.p.Event, Data: document(storedText(payload)).Raw()})
	if e := &b.p.Events[len(b.p.Events)-1]; b.identity != "" {
		e.ID = b.deriveID("whole")
	}
}

type payloadText struct {
	Bytes  int    `json:"bytes"`
	Text   string `json:"text,omitempty"`
	Base64 []byte `json:"base64,omitempty"`
}

const maxStoredText = 16 << 20

func storedText(payload []byte) payloadText {
	t := payloadText{Bytes: len(payload)}
	if payload = payload[:min(len(payload), maxStoredText)]; utf8.Valid(payload) {
		t.Text = string(payload)
	} else {
		t.Base64 = payload
	}
	return t
}
