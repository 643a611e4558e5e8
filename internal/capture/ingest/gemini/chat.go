package gemini

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type chat struct {
	*ingest.Emitter
	opts ingest.Options

	run     *ingest.Run
	about   ingest.Object // the members of an object other than messages
	first   json.RawMessage
	head    head
	last    time.Time // of the latest message with a time
	model   string
	written map[string]*writtenMessage
	calls   map[string]string // ids of calls, by run and written id

	pending     []func() // emit events that wait for the session
	pendingSize int
}

const maxPending = 16 << 20

type head struct {
	Session     string   `json:"sessionId"`
	Project     string   `json:"projectHash"`
	Start       string   `json:"startTime"`
	Kind        string   `json:"kind"`
	Directories []string `json:"directories"`
}

var headMembers = []string{"sessionId", "projectHash", "startTime", "lastUpdated", "kind", "directories", "summary", "memoryScratchpad"}

type writtenMessage struct {
	said   map[string]bool // hashes of texts and thoughts
	tokens events.Tokens
	counts int

	modelled bool
}

func (c *chat) end() {
	if c.run == nil && (c.head.Session != "" || len(c.pending) > 0) {
		c.begin()
	}
	if c.run != nil {
		if c.run.About = c.about.JSON(); c.run.About == nil {
			c.run.About = c.first
		}
	}
	c.run, c.head, c.about, c.first = nil, head{}, ingest.Object{}, nil
	c.last, c.model = time.Time{}, ""
}

func (c *chat) fragment(p ingest.Fragment) {
	switch {
	case p.End:
		c.end()
	case p.Member == "messages" && p.Element >= 0:
		c.take(p.Text)
	case slices.Contains(headMembers, p.Member):
		c.about.Add(p.Member, p.Text)
		c.learn(c.about.JSON())
	default:
		c.other(p.Member, p.Text)
	}
}

func (c *chat) learn(about json.RawMessage) { _ = json.Unmarshal(about, &c.head) }

func (c *chat) line(in ingest.Line) {
	var l struct {
		ID      string          `json:"id"`
		Type    string          `json:"type"`
		Session string          `json:"sessionId"`
		Set     json.RawMessage `json:"$set"`
		Rewind  json.RawMessage `json:"$rewindTo"`
	}
	text, err := c.Decode(in, &l)
	switch {
	case text == nil:
	case err != nil:
		c.other("line", text)
	case l.Set != nil:
		c.set(l.Set)
	case l.Rewind != nil:
		c.other("$rewindTo", text)
	case l.Type != "" || l.ID != "":
		c.take(text)
	default:
		c.open(text, l.Session)
	}
}

func (c *chat) open(text json.RawMessage, session string) {
	if session != "" && c.run != nil && session != c.head.Session {
		c.end()
	}
	if c.run != nil || c.first != nil {
		c.set(text)
		return
	}
	c.first = ingest.Without(text, "messages")
	c.learn(text)
	c.set(ingest.Without(text, headMembers...))
}

func (c *chat) set(changes json.RawMessage) {
	var list struct {
		Messages []json.RawMessage `json:"messages"`
	}
	_ = json.Unmarshal(changes, &list) // the event below has all other members
	for _, text := range list.Messages {
		c.take(text)
	}
	if others := ingest.Without(changes, "messages"); others != nil {
		c.other("$set", others)
	}
}

func (c *chat) take(text json.RawMessage) {
	c.enqueue(len(text), func() { c.message(text) })
}

func (c *chat) other(name string, text json.RawMessage) {
	c.enqueue(len(text), func() {
		p := ingest.Origin{ID: c.LineID(append([]byte(name+":"), text...)), Time: c.when("")}
		c.run.Emit(p, events.Custom, "", events.CustomData{Name: name, Common: events.Common{Raw: text}})
	})
}

// enqueue calls emit as soon as the session is known, because event ids depend on the session.
func (c *chat) enqueue(size int, emit func()) {
	if c.run == nil && c.head.Session == "" && c.pendingSize+size <= maxPending {
		c.pending, c.pendingSize = append(c.pending, emit), c.pendingSize+size
		return
	}
	if c.run == nil {
		c.begin()
	}
	emit()
}

func (c *chat) begin() {
	h := c.head
	if h.Session == "" || !ingest.Usable(h.Session) {
		h.Session = ingest.SessionOf(c.opts.File)
	}
	id := ingest.Identity{Run: h.Session, Session: h.Session, Agent: Source}
	if h.Kind == "subagent" {
		if parent := filepath.Base(filepath.Dir(c.opts.File)); ingest.Usable(parent) && parent != "." && parent != string(filepath.Separator) {
			id = ingest.Identity{Run: parent, Session: parent, Agent: Source}.Sub(h.Session, h.Session)
		}
	}
	started := events.RunStartedData{Metadata: map[string]any{}}
	if h.Project != "" {
		started.Metadata["project_hash"] = h.Project
	}
	if len(h.Directories) > 0 {
		started.Cwd = h.Directories[0]
	}
	p := ingest.Origin{ID: "session", Time: c.when(h.Start)}
	again := c.Started(id.Run)
	c.run = c.Run(id, p, started)
	if !again {
		c.run.Emit(p, events.SessionStart, "", events.SessionStartData{})
	}
	pending := c.pending
	c.pending, c.pendingSize = nil, 0
	for _, emit := range pending {
		emit()
	}
}

func (c *chat) when(text string) time.Time {
	c.last = c.Time(text, c.last)
	if c.last.IsZero() {
		return c.Now()
	}
	return c.last
}
