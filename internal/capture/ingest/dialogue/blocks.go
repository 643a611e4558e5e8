package dialogue

import (
	"cmp"
	"encoding/json"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type block struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	Args     json.RawMessage `json:"arguments"` // pi
	Call     string          `json:"tool_use_id"`
	IsError  bool            `json:"is_error"`
	Content  json.RawMessage `json:"content"`
	Thinking string          `json:"thinking"`
}

func blocks(data json.RawMessage) ([]part, error) {
	if len(data) == 0 || string(data) == "null" {
		return nil, nil
	}
	if data[0] == '"' {
		return []part{{kind: text, text: ingest.Text(data), raw: data}}, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil {
		return nil, ingest.ShapeError("message.content: neither text nor blocks")
	}
	parts := make([]part, 0, len(list))
	for _, raw := range list {
		var b block
		if json.Unmarshal(raw, &b) != nil {
			parts = append(parts, part{kind: content, raw: raw})
			continue
		}
		parts = append(parts, b.part(raw))
	}
	return parts, nil
}

func (b *block) part(raw json.RawMessage) part {
	p := part{kind: content, raw: raw}
	switch b.Type {
	case "text":
		p.kind, p.text = text, b.Text
	case "thinking", "redacted_thinking":
		p.kind = thought
	case "tool_use", "toolCall":
		p.kind, p.id, p.tool, p.args = call, b.ID, b.Name, b.Input
		if p.args == nil {
			p.args = b.Args
		}
	case "tool_result":
		p.kind, p.id, p.tool = result, b.Call, b.Name
		p.outcome = told(b.IsError, b.Content)
	}
	return p
}

func told(failed bool, output json.RawMessage) events.ToolResultData {
	data := events.ToolResultData{Status: events.ToolSuccess, Result: output}
	if failed {
		data.Status = events.ToolError
		data.Error, data.Result = ingest.Failed(cmp.Or(ingest.Flatten(output), "failed, and does not say why"), output)
	}
	return data
}

func counts(input, output, read, write float64) *events.Tokens {
	if !ingest.AreCounts(input, output, read, write) || input+output+read+write == 0 {
		return nil
	}
	return &events.Tokens{Input: int64(input), Output: int64(output), CacheRead: int64(read), CacheCreation: int64(write)}
}
