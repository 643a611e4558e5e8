package agents

import (
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
	name    string
	dialect dialect
}

// dialect is what differs from tool to tool.
type dialect interface {
	// parse fills b from a payload.
	parse(b *build)
	// reply answers a payload for which o was decided. An ask that the dialect
	// does not have has become a deny before.
	reply(p Payload, o hooks.DocumentOutcome) Reply
	// asks tells whether a person can be asked at this payload.
	asks(p Payload) bool
}

// Names returns the names of the tools, in order.
func Names() []string {
	return []string{"claude-code", "codex", "copilot-cli", "gemini-cli", "opencode"}
}

// Named returns the tool of a name that [Names] lists.
func Named(name string) (*Tool, error) {
	if !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("agent %q: not one of %s", name, strings.Join(Names(), ", "))
	}
	return &Tool{name: name, dialect: dialects[name]}, nil
}

var dialects = map[string]dialect{}

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

	tool  *Tool
	denied func() // tells Pairs that the call waits for no result; may be nil
}

// Reply is the answer to a hook: what the hook command prints and how it exits.
type Reply struct {
	Stdout []byte // empty or one JSON document, exactly as the tool expects it
	Stderr string
	Exit   int
}

// Parse reads a payload. It fails only for what is no JSON object; then
// [Tool.Unreadable] tells what to record.
func (t *Tool) Parse(payload []byte, c Context) (Payload, error) {
	return Payload{}, fmt.Errorf("parse %s payload of %d bytes: not built", t.name, len(payload))
}

// Unreadable returns the custom event that keeps a payload which Parse refuses:
// its text, or its bytes in base64, or their count where they are too many.
func (t *Tool) Unreadable(payload []byte, c Context) Payload { return Payload{tool: t} }

// Decided returns what to record after hooks have decided o: the Events of p,
// the one of the decision with the verdict, the reason, the patched arguments
// and the executions. A question that the tool cannot ask is recorded as the
// denial that it is answered with. A denied call waits for no result any more.
func (p Payload) Decided(o hooks.DocumentOutcome) []events.Event { return p.Events }

// Reply returns the answer to p in the dialect of t. Without an opinion it is
// what the tool takes for none.
func (t *Tool) Reply(p Payload, o hooks.DocumentOutcome) Reply { return Reply{} }

// FailClosed returns the answer that denies p because nobody could decide.
// Payloads at which nothing can be denied get no opinion.
func (t *Tool) FailClosed(p Payload, reason string) Reply { return Reply{} }
