package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// claudeLine is what all lines of a Claude Code transcript have in common, and
// what the mapped types need.
type claudeLine struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	UUID      string `json:"uuid"`
	Session   string `json:"sessionId"`
	Agent     string `json:"agentId"`
	Timestamp string `json:"timestamp"`
	Version   string `json:"version"`
	Cwd       string `json:"cwd"`
	Branch    string `json:"gitBranch"`

	Sidechain  bool `json:"isSidechain"`
	Meta       bool `json:"isMeta"`
	Summary    bool `json:"isCompactSummary"`
	Transcript bool `json:"isVisibleInTranscriptOnly"`
	APIError   bool `json:"isApiErrorMessage"`

	RawMessage json.RawMessage `json:"message"`
	Error      json.RawMessage `json:"error"`         // API errors: a class, or an object
	ToolResult json.RawMessage `json:"toolUseResult"` // the tool's own copy of the result
	Data       json.RawMessage `json:"data"`          // progress
	ParentTool string          `json:"parentToolUseID"`

	Content      json.RawMessage `json:"content"`    // system lines
	DurationMS   json.RawMessage `json:"durationMs"` // turn_duration
	Compact      json.RawMessage `json:"compactMetadata"`
	RetryAttempt json.RawMessage `json:"retryAttempt"`
	RetryInMS    json.RawMessage `json:"retryInMs"`
	Snapshot     json.RawMessage `json:"snapshot"` // file-history-snapshot
	Update       json.RawMessage `json:"isSnapshotUpdate"`

	number int
	raw    []byte
	id     string        // names the line in its run
	time   time.Time     // of the line, or of the one before it
	msg    claudeMessage // of user and assistant lines
	blocks []claudeBlock // its content, or
	text   string        // its content where that is a string
	bad    bool          // not of the expected shape
}

type claudeMessage struct {
	ID         string          `json:"id"`
	Role       string          `json:"role"`
	Model      string          `json:"model"`
	StopReason string          `json:"stop_reason"`
	Content    json.RawMessage `json:"content"`
	Usage      json.RawMessage `json:"usage"`

	tokens events.Tokens
}

type claudeBlock struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Call    string          `json:"tool_use_id"`
	IsError bool            `json:"is_error"`
	Content json.RawMessage `json:"content"`

	raw json.RawMessage
}

// parseClaudeLine reads one line. Of a line that is an object, but not of the
// expected shape, it returns what it could read together with the report.
func parseClaudeLine(file string, in line) (*claudeLine, *LineError) {
	l := &claudeLine{raw: bytes.Clone(bytes.TrimLeft(in.text, " \t")), number: in.number}
	err := json.Unmarshal(l.raw, l)
	valid := err == nil || json.Valid(l.raw)
	switch {
	case valid && l.raw[0] != '{':
		return nil, &LineError{File: file, Line: in.number, Reason: "not a JSON object"}
	case err != nil && !valid:
		return nil, jsonError(file, in, err)
	case err == nil:
		err = l.parseMessage()
	}
	if !usable(l.Session) || !usable(l.Agent) {
		return nil, &LineError{File: file, Line: in.number, Reason: "sessionId or agentId: cannot be used as an id"}
	}
	if err != nil {
		report := jsonError(file, in, err)
		report.Kept = true
		return l, report
	}
	return l, nil
}

// parseMessage reads what stands deeper in a line of the mapped types.
func (l *claudeLine) parseMessage() error {
	if !usable(l.UUID) {
		return shapeError("uuid: cannot be used as an id")
	}
	if l.Type != "user" && l.Type != "assistant" {
		return nil
	}
	if err := json.Unmarshal(l.RawMessage, &l.msg); err != nil {
		return shapeError("message: not a message")
	}
	if err := l.msg.parseUsage(); err != nil {
		return err
	}
	content := l.msg.Content
	if len(content) > 0 && content[0] == '"' {
		return json.Unmarshal(content, &l.text)
	}
	var blocks []json.RawMessage
	if err := json.Unmarshal(content, &blocks); err != nil {
		return shapeError("message.content: neither text nor blocks")
	}
	l.blocks = make([]claudeBlock, len(blocks))
	for i, raw := range blocks {
		if err := l.blocks[i].parse(raw); err != nil {
			return shapeError(fmt.Sprintf("message.content[%d]%v", i, err))
		}
	}
	return nil
}

// shapeError says that a line is JSON, but not of the expected shape.
type shapeError string

func (e shapeError) Error() string { return string(e) }

func (b *claudeBlock) parse(raw json.RawMessage) error {
	if err := json.Unmarshal(raw, b); err != nil {
		return shapeError(": not a block")
	}
	b.raw = raw
	switch {
	case !usable(b.ID):
		return shapeError(".id: cannot be used as an id")
	case !usable(b.Call):
		return shapeError(".tool_use_id: cannot be used as an id")
	}
	return nil
}

// maxCount bounds a token count; sums of any number of lines stay far below the
// largest integer.
const maxCount = 1 << 40

func (m *claudeMessage) parseUsage() error {
	if !usable(m.ID) {
		return shapeError("message.id: cannot be used as an id")
	}
	if len(m.Usage) == 0 {
		return nil
	}
	var usage struct {
		Input         float64 `json:"input_tokens"`
		Output        float64 `json:"output_tokens"`
		CacheCreation float64 `json:"cache_creation_input_tokens"`
		CacheRead     float64 `json:"cache_read_input_tokens"`
	}
	if err := json.Unmarshal(m.Usage, &usage); err != nil {
		return shapeError("message.usage: not token counts")
	}
	for _, n := range []float64{usage.Input, usage.Output, usage.CacheCreation, usage.CacheRead} {
		if n < 0 || n > maxCount {
			return shapeError("message.usage: a count is out of range")
		}
	}
	m.tokens = events.Tokens{
		Input: int64(usage.Input), Output: int64(usage.Output),
		CacheCreation: int64(usage.CacheCreation), CacheRead: int64(usage.CacheRead),
	}
	return nil
}

const badTime = "timestamp: not a time of the years 1970 to 9999, that of the line before is taken"

// when returns the time of the line, if it has a usable one.
func (l *claudeLine) when() (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, l.Timestamp)
	t = t.UTC()
	return t, err == nil && t.Year() >= 1970 && t.Year() <= 9999
}

// messageText returns the text of a message: the string, or the text blocks.
func (l *claudeLine) messageText() string {
	if l.blocks == nil {
		return l.text
	}
	var parts []string
	for _, b := range l.blocks {
		if b.Type == "text" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// maxID leaves room for a session and an agent in one run id.
const maxID = 120

// usable reports whether s can be an attribute of an event: short enough, and
// without the control characters that CloudEvents forbids.
func usable(s string) bool {
	if len(s) > maxID || !utf8.ValidString(s) {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool {
		return c < 0x20 || c >= 0x7f && c <= 0x9f || c >= 0xfdd0 && c <= 0xfdef || c&0xfffe == 0xfffe
	})
}

// flatten returns the text of a tool result's content: a string, or blocks.
func flatten(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return ""
	}
	var parts []string
	for _, b := range blocks {
		if b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
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

// number returns raw as a whole number, 0 where it is none or out of range.
func number(raw json.RawMessage) int64 {
	var n float64
	if json.Unmarshal(raw, &n) != nil || n < 0 || n > maxCount {
		return 0
	}
	return int64(n)
}
