package agents

import (
	"crypto/sha256"
	"slices"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
)

// CallIDs assigns ids to tool calls if an agent sends none. It also stores facts about a session. A
// call and its result get the same id, in whichever order they arrive. The methods are safe for
// concurrent use.
type CallIDs interface {
	callPairs
	openCalls
	promptSteps
	sessionMarks
}

type callPairs interface {
	// Call returns the id of a tool call. A repeated call of the method with the same key and
	// identity returns the same id. An empty identity always means a new tool call.
	Call(k Key, identity string) string
	// Result returns the id of the tool call with key k to which a new result belongs. denied says
	// whether the result states that the call was denied.
	Result(k Key, identity string, denied bool) string
	// Denied records that the tool call with key k and this id was denied. From then on, only a
	// result that states the denial can belong to the call.
	Denied(k Key, id string)
	// IsDenied reports whether any call with this key was denied.
	IsDenied(k Key) bool
}

type openCalls interface {
	// Stated records a tool call with key k for which the agent itself states an id.
	Stated(k Key, id string)
	// StatedResult records that a tool call whose id the agent states has a result.
	StatedResult(k Key, id string)
	// DenyOpen records that the latest tool call with key k and without a result was denied. It
	// returns the id of the call, or "" if there is no such call. Repeated calls of DenyOpen with
	// the same identity return the same id.
	DenyOpen(k Key, identity string) string
}

type promptSteps interface {
	// Prompt returns the id of the step that a prompt begins. That step becomes the latest step of
	// the session.
	Prompt(k Key, identity string) string
	// Began makes the given step the latest one of the session.
	Began(session, step string)
	// Step returns the id of the latest step of the session, or "" if there is none.
	Step(session string) string
}

type sessionMarks interface {
	// Mark stores a fact about a session for later payloads of the session.
	Mark(session string, m Mark)
	// IsMarked reports whether Mark has stored the fact.
	IsMarked(session string, m Mark) bool
}

// Mark is a fact about a session, such as the end of a turn.
type Mark struct {
	Fact    string // what is true
	Subject string // of what, such as the id of the turn
}

// Do not change the format of the key, because files of earlier versions contain such keys.
func (m Mark) key(session string) Key {
	return Key{Session: session, Call: "\x00" + m.Fact + " " + m.Subject}
}

// Key identifies tool calls or prompts by their content. A call and its result have the same key.
type Key struct {
	Session string // includes the tenant and the tool
	Call    string // see [ingest.CallKey] and [ingest.PromptKey]
}

func (k Key) hash() [sha256.Size]byte {
	return sha256.Sum256([]byte(k.Session + "\x00" + k.Call))
}

func callID(k Key, n int) string { return ingest.CallID(k.Session, k.Call, n) }

func promptID(k Key, n int) string { return ingest.PromptID(k.Session, k.Call, n) }

func firstCall(k Key) string { return callID(k, 0) }

type calls []slot

type slot struct {
	Call   string `json:"c,omitempty"`
	Result string `json:"r,omitempty"`
	Has    uint8  `json:"h"`
	Denied bool   `json:"d,omitempty"`
	ID     string `json:"i,omitempty"` // stated by the agent; if empty, the id follows from the index
	Asked  string `json:"a,omitempty"` // identity of the question whose answer denied the call
}

func (s slot) done() bool { return s.Has == hasCall|hasResult || s.Denied && s.Asked == "" }

const (
	hasCall uint8 = 1 << iota
	hasResult
)

func (c *calls) call(identity string) int {
	i := c.find(
		func(s slot) bool { return identity != "" && s.Has&hasCall != 0 && s.Call == identity },
		func(s slot) bool { return s.Has&hasCall == 0 },
	)
	(*c)[i].Call, (*c)[i].Has = identity, (*c)[i].Has|hasCall
	return i
}

func (c *calls) result(identity string) int { return c.resultOf(identity, false) }

func (c *calls) deniedResult(identity string) int {
	denied := slices.ContainsFunc(*c, func(s slot) bool { return s.Has == hasCall && s.Denied })
	return c.resultOf(identity, denied)
}

func (c *calls) resultOf(identity string, denied bool) int {
	i := c.find(
		func(s slot) bool { return identity != "" && s.Has&hasResult != 0 && s.Result == identity },
		func(s slot) bool { return s.Has&hasResult == 0 && s.Denied == denied },
	)
	(*c)[i].Result, (*c)[i].Has = identity, (*c)[i].Has|hasResult
	return i
}

func (c *calls) find(known, free func(slot) bool) int {
	for _, fits := range []func(slot) bool{known, free} {
		if i := slices.IndexFunc(*c, fits); i >= 0 {
			return i
		}
	}
	*c = append(*c, slot{})
	return len(*c) - 1
}

func (c *calls) denied(k Key, id string) {
	for i := range *c {
		if c.id(k, i) == id {
			(*c)[i].Denied = true
			return
		}
	}
	*c = append(*c, slot{Has: hasCall, Denied: true})
}

func (c *calls) id(k Key, i int) string {
	if id := (*c)[i].ID; id != "" {
		return id
	}
	return callID(k, i)
}

// stated removes completed calls only if the agent states the id of every call. Other ids depend on
// the position of a call in the list, so removing a call would change them.
func (c *calls) stated(id string, has uint8) {
	i := slices.IndexFunc(*c, func(s slot) bool { return s.ID == id })
	if i < 0 {
		*c, i = append(*c, slot{ID: id}), len(*c)
	}
	(*c)[i].Has |= has
	if !slices.ContainsFunc(*c, func(s slot) bool { return s.ID == "" }) {
		*c = slices.DeleteFunc(*c, slot.done)
	}
}

func (c *calls) denyOpen(k Key, identity string) string {
	open := -1
	for i, s := range *c {
		if identity != "" && s.Asked == identity {
			return c.id(k, i)
		}
		if s.Has == hasCall && !s.Denied {
			open = i
		}
	}
	if open < 0 {
		return ""
	}
	(*c)[open].Denied, (*c)[open].Asked = true, identity
	return c.id(k, open)
}

// mark stores a fact as a denied call without an id, because earlier versions store facts this way.
func (c *calls) mark(k Key) {
	if !c.isDenied() {
		c.denied(k, "")
	}
}

func (c *calls) isDenied() bool {
	return slices.ContainsFunc(*c, func(s slot) bool { return s.Denied })
}
