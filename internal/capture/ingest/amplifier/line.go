package amplifier

import (
	"bytes"
	"cmp"
	"encoding/json"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type line struct {
	Time    string          `json:"ts"`
	Level   string          `json:"lvl"`
	Logger  string          `json:"logger"`
	Event   string          `json:"event"`
	Session string          `json:"session_id"`
	Parent  string          `json:"parent_id"`
	Data    json.RawMessage `json:"data"`
	fields

	id   string
	raw  json.RawMessage
	time time.Time
}

type fields struct {
	Status     string          `json:"status"`
	DurationMS json.RawMessage `json:"duration_ms"`
	Model      string          `json:"model"`
	Usage      *usage          `json:"usage"`
	Stop       string          `json:"stop_reason"`
	Messages   json.RawMessage `json:"messages"`
	Block      json.RawMessage `json:"block"`
	Index      json.RawMessage `json:"block_index"`
	Prompt     string          `json:"prompt"`
	Tool       string          `json:"tool_name"`
	Input      json.RawMessage `json:"tool_input"`
	Result     json.RawMessage `json:"tool_result"`
	Outcome    json.RawMessage `json:"result"` // other orchestrators use this name for tool_result
	Call       string          `json:"tool_call_id"`
	Error      json.RawMessage `json:"error"`
	Reason     string          `json:"reason"`
	Agent      string          `json:"agent"`
	Tokens     json.RawMessage `json:"tokens"`
}

type usage struct {
	Input      json.RawMessage `json:"input_tokens"` // includes cached tokens
	Output     json.RawMessage `json:"output_tokens"`
	CacheRead  json.RawMessage `json:"cache_read_tokens"`
	CacheWrite json.RawMessage `json:"cache_write_tokens"`
}

func (u *usage) tokens() events.Tokens {
	t := events.Tokens{
		Output: ingest.Number(u.Output), CacheRead: ingest.Number(u.CacheRead), CacheCreation: ingest.Number(u.CacheWrite),
	}
	t.Input = max(0, ingest.Number(u.Input)-t.CacheRead)
	return t
}

func parse(in ingest.Line) (*line, error) {
	l := &line{raw: bytes.Clone(in.Text)}
	err := json.Unmarshal(l.raw, l)
	if err == nil && len(l.Data) > 0 && l.Data[0] == '{' {
		err = json.Unmarshal(l.Data, &l.fields)
	}
	if err == nil && (!ingest.Usable(l.Session) || !ingest.Usable(l.Parent) || !ingest.Usable(l.Call) || !ingest.Usable(l.Agent)) {
		l.Session, l.Parent, l.Call, l.Agent = "", "", "", ""
		err = ingest.ShapeError("session_id, parent_id, tool_call_id or agent: cannot be used as an id")
	}
	return l, err
}

func (l *line) origin() ingest.Origin { return ingest.Origin{ID: l.id, Time: l.time} }

func (l *line) common() events.Common { return events.Common{Raw: l.raw} }

func (l *line) name() string {
	switch {
	case l.Event != "":
		return l.Event
	case l.Logger != "":
		return "log." + l.Logger
	}
	return "line"
}

func (l *line) result() events.ToolResultData {
	value := l.Result
	if len(value) == 0 {
		value = l.Outcome
	}
	var result struct {
		Success *bool           `json:"success"`
		IsError bool            `json:"is_error"`
		Error   json.RawMessage `json:"error"`
		Output  json.RawMessage `json:"output"`
	}
	if json.Unmarshal(value, &result) != nil {
		result.Output = value
	}
	data := events.ToolResultData{
		Tool: l.Tool, Status: events.ToolSuccess, Result: value, DurationMS: ingest.Number(l.DurationMS), Common: l.common(),
	}
	var command struct {
		Code *int `json:"returncode"`
	}
	if json.Unmarshal(result.Output, &command) == nil {
		data.ExitCode = command.Code
	}
	failed := result.IsError || result.Success != nil && !*result.Success || data.ExitCode != nil && *data.ExitCode != 0
	if !failed && l.Event != "tool:error" {
		return data
	}
	data.Status = events.ToolError
	data.Error, data.Result = ingest.Failed(cmp.Or(problem(l.Error), problem(result.Error), ingest.Flatten(result.Output)), value)
	return data
}

func problem(raw json.RawMessage) string {
	if text := ingest.Text(raw); text != "" {
		return text
	}
	var object struct {
		Message string `json:"message"`
		Msg     string `json:"msg"`
	}
	if json.Unmarshal(raw, &object) != nil {
		return ""
	}
	return object.Message + object.Msg
}
