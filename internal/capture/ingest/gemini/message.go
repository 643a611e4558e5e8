package gemini

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type message struct {
	ID        string            `json:"id"`
	Timestamp string            `json:"timestamp"`
	Type      string            `json:"type"`
	Content   json.RawMessage   `json:"content"`
	Thoughts  json.RawMessage   `json:"thoughts"`
	Calls     []json.RawMessage `json:"toolCalls"`
	Tokens    json.RawMessage   `json:"tokens"`
	Model     string            `json:"model"`

	origin ingest.Origin
	text   json.RawMessage
}

var mappedMembers = []string{"id", "timestamp", "type", "content", "thoughts", "toolCalls", "tokens", "model"}

var injected = []string{"<session_context>", "System: Please continue.", "This is the Gemini CLI.", "<state_snapshot>"}

func (c *chat) message(text json.RawMessage) {
	m := message{text: text}
	if err := json.Unmarshal(text, &m); err != nil || text[0] != '{' {
		c.Fault("message: not of the expected shape", true)
		c.other("message", text)
		return
	}
	if m.ID == "" || !ingest.Usable(m.ID) {
		m.ID = c.LineID(text)
	}
	m.origin = ingest.Origin{ID: m.ID, Time: c.when(m.Timestamp)}
	c.run.Touch(m.origin.Time)
	key := c.run.Run + "\x00" + m.ID
	k := c.written[key]
	isNew := k == nil
	if isNew {
		k = &writtenMessage{said: map[string]bool{}}
		c.written[key] = k
	}
	switch m.Type {
	case "user":
		c.user(m, k, isNew)
	case "gemini":
		c.answer(m, k)
	case "info", "warning", "error":
		c.notice(m, k)
	default:
		if k.isNew(text) {
			c.other("message."+m.Type, text)
		}
	}
}

func (k *writtenMessage) isNew(content json.RawMessage) bool {
	hash := hashOf(content)
	if k.said[hash] {
		return false
	}
	k.said[hash] = true
	return true
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}

func (c *chat) user(m message, k *writtenMessage, isNew bool) {
	if !k.isNew(m.Content) {
		return
	}
	text := ingest.Flatten(m.Content)
	isPrompt := isNew && text != ""
	for _, begin := range injected {
		isPrompt = isPrompt && !strings.HasPrefix(strings.TrimSpace(text), begin)
	}
	if !isPrompt {
		c.emitMessage(m, "user", m.Content, ingest.Without(m.text, mappedMembers...))
		return
	}
	data := events.PromptSubmitData{Prompt: text, Common: events.Common{Raw: ingest.Without(m.text, mappedMembers...)}}
	if m.Content[0] != '"' {
		data.Raw = ingest.Without(m.text, "id", "timestamp", "type")
	}
	p := m.origin
	p.Step = c.run.HookPrompt(text)
	c.run.Prompt(p, data)
}

// emitMessage adds a hash of the content to the event id, because Gemini CLI can write a message
// again with other content.
func (c *chat) emitMessage(m message, role string, content, others json.RawMessage) {
	p := m.origin
	p.ID += "#" + hashOf(content)
	c.run.Emit(p, events.MessageCreated, "", events.MessageData{
		Message: m.ID, Role: role, Content: content, Common: events.Common{Raw: others},
	})
}

func (c *chat) notice(m message, k *writtenMessage) {
	switch {
	case !k.isNew(m.text):
	case m.Type == "error":
		text := ingest.Flatten(m.Content)
		f := events.Failure{
			Message: cmp.Or(ingest.Clip(text, ingest.MaxMessage), "failed, and does not say why"), Class: ingest.FailureClass(text),
		}
		c.run.Within(m.origin).Failure = &f
		c.run.Emit(m.origin, events.Error, "", events.ErrorData{Error: f, Model: c.model, Common: events.Common{Raw: m.text}})
	default:
		if text := strings.TrimSpace(ingest.Flatten(m.Content)); text == "Request cancelled." || text == "User cancelled the request." {
			if s := c.run.Step(); s != nil {
				s.Status = events.StepInterrupted
			}
		}
		c.emitMessage(m, "system", m.Content, ingest.Without(m.text, "id", "timestamp", "content"))
	}
}

func (c *chat) answer(m message, k *writtenMessage) {
	step := c.run.Within(m.origin)
	if m.Model != "" && !k.modelled {
		k.modelled = true
		if c.model != "" && c.model != m.Model {
			c.run.Emit(m.origin, events.ModelSwitched, "", events.ModelSwitchedData{From: c.model, To: m.Model})
		}
		c.model = m.Model
	}
	if len(m.Thoughts) > 2 && k.isNew(m.Thoughts) { // not an empty list
		c.emitMessage(m, "assistant", ingest.SingleMember("thoughts", m.Thoughts), nil)
	}
	if text := ingest.Flatten(m.Content); text != "" && k.isNew(m.Content) {
		step.Answer(text)
		step.Failure = nil // the model recovered from earlier errors
		c.emitMessage(m, "assistant", m.Content, ingest.Without(m.text, mappedMembers...))
	}
	for i, text := range m.Calls {
		c.call(m, i, text)
	}
	c.spend(m, k)
}

// usage contains token counts of Gemini CLI. Input includes cached tokens, and Output excludes
// thoughts.
type usage struct {
	Input    float64 `json:"input"`
	Output   float64 `json:"output"`
	Cached   float64 `json:"cached"`
	Thoughts float64 `json:"thoughts"`
	Tool     float64 `json:"tool"`
}

func (u usage) tokens() (t events.Tokens, ok bool) {
	if !ingest.AreCounts(u.Input, u.Output, u.Cached, u.Thoughts, u.Tool) {
		return events.Tokens{}, false
	}
	return events.Tokens{
		Input:     int64(max(0, u.Input-u.Cached) + u.Tool),
		CacheRead: int64(min(u.Cached, u.Input)),
		Output:    int64(u.Output + u.Thoughts),
	}, true
}

func (c *chat) spend(m message, k *writtenMessage) {
	var u usage
	if len(m.Tokens) == 0 || m.Tokens[0] != '{' || json.Unmarshal(m.Tokens, &u) != nil {
		return
	}
	now, ok := u.tokens()
	if !ok {
		c.Fault("tokens: a count is out of range", true)
		return
	}
	if k.counts > 0 && now == k.tokens {
		return
	}
	c.run.Spend(events.Tokens{Input: now.Input - k.tokens.Input, Output: now.Output - k.tokens.Output, CacheRead: now.CacheRead - k.tokens.CacheRead})
	k.tokens = now
	k.counts++
	c.run.Aggregate(m.ID+"#"+strconv.Itoa(k.counts), c.run.StepID(), m.origin.Time, events.ResponseCompleted, events.ResponseCompletedData{
		Message: m.ID, Model: m.Model, TokensUsed: &now, Common: events.Common{Raw: m.Tokens},
	})
}
