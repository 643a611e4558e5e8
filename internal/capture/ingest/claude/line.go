package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type line struct {
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
	Prompt     json.RawMessage `json:"promptId"`       // of user lines; hooks send it too
	Error      json.RawMessage `json:"error"`          // of API errors: a class or an object
	ToolResult json.RawMessage `json:"toolUseResult"`  // a second copy of the result from the tool
	DenialKind string          `json:"toolDenialKind"` // of a result that is a refusal or an interrupt
	Data       json.RawMessage `json:"data"`           // progress
	ParentTool string          `json:"parentToolUseID"`

	Content      json.RawMessage `json:"content"`    // system lines
	DurationMS   json.RawMessage `json:"durationMs"` // turn_duration
	Compact      json.RawMessage `json:"compactMetadata"`
	RetryAttempt json.RawMessage `json:"retryAttempt"`
	RetryInMS    json.RawMessage `json:"retryInMs"`
	Snapshot     json.RawMessage `json:"snapshot"` // file-history-snapshot
	Update       json.RawMessage `json:"isSnapshotUpdate"`

	TotalCost   float64 `json:"totalCostUSD"` // of a cost-state, with the sub-agents
	PartialCost bool    `json:"hasUnknownModelCost"`

	number int
	raw    []byte
	id     string
	time   time.Time // of the line, or of the line before
	msg    message   // of user and assistant lines
	blocks []block   // content that is a list
	text   string    // content that is a string
	bad    bool
}

type message struct {
	ID         string          `json:"id"`
	Role       string          `json:"role"`
	Model      string          `json:"model"`
	StopReason string          `json:"stop_reason"`
	Content    json.RawMessage `json:"content"`
	Usage      json.RawMessage `json:"usage"`

	tokens events.Tokens
}

type block struct {
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

func parse(file string, in ingest.Line) (*line, *ingest.LineError) {
	l := &line{raw: bytes.Clone(bytes.TrimLeft(in.Text, " \t")), number: in.Number}
	err := json.Unmarshal(l.raw, l)
	valid := err == nil || json.Valid(l.raw)
	switch {
	case valid && l.raw[0] != '{':
		return nil, &ingest.LineError{File: file, Line: in.Number, Reason: "not a JSON object"}
	case err != nil && !valid:
		return nil, ingest.JSONError(file, in, err)
	case err == nil:
		err = l.parseMessage()
	}
	if !ingest.Usable(l.Session) || !ingest.Usable(l.Agent) {
		return nil, &ingest.LineError{File: file, Line: in.Number, Reason: "sessionId or agentId: cannot be used as an id"}
	}
	if err != nil {
		report := ingest.JSONError(file, in, err)
		report.Kept = true
		return l, report
	}
	return l, nil
}

func (l *line) parseMessage() error {
	if !ingest.Usable(l.UUID) {
		return ingest.ShapeError("uuid: cannot be used as an id")
	}
	if l.Type != "user" && l.Type != "assistant" {
		return nil
	}
	if err := json.Unmarshal(l.RawMessage, &l.msg); err != nil {
		return ingest.ShapeError("message: not a message")
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
		return ingest.ShapeError("message.content: neither text nor blocks")
	}
	l.blocks = make([]block, len(blocks))
	for i, raw := range blocks {
		if err := l.blocks[i].parse(raw); err != nil {
			return ingest.ShapeError(fmt.Sprintf("message.content[%d]%v", i, err))
		}
	}
	return nil
}

func (b *block) parse(raw json.RawMessage) error {
	if err := json.Unmarshal(raw, b); err != nil {
		return ingest.ShapeError(": not a block")
	}
	b.raw = raw
	switch {
	case !ingest.Usable(b.ID):
		return ingest.ShapeError(".id: cannot be used as an id")
	case !ingest.Usable(b.Call):
		return ingest.ShapeError(".tool_use_id: cannot be used as an id")
	}
	return nil
}

func (m *message) parseUsage() error {
	if !ingest.Usable(m.ID) {
		return ingest.ShapeError("message.id: cannot be used as an id")
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
		return ingest.ShapeError("message.usage: not token counts")
	}
	if !ingest.AreCounts(usage.Input, usage.Output, usage.CacheCreation, usage.CacheRead) {
		return ingest.ShapeError("message.usage: a count is out of range")
	}
	m.tokens = events.Tokens{
		Input: int64(usage.Input), Output: int64(usage.Output),
		CacheCreation: int64(usage.CacheCreation), CacheRead: int64(usage.CacheRead),
	}
	return nil
}

func (l *line) whole() ingest.Origin { return l.at(-1) }

func (l *line) at(block int) ingest.Origin {
	return ingest.Origin{ID: l.id, Block: block, Time: l.time}
}

func (l *line) messageText() string {
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
