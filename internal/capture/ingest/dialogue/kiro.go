package dialogue

import (
	"encoding/json"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var kiroKinds = map[string]role{"Prompt": user, "AssistantMessage": assistant, "ToolResults": user, "Compaction": compaction}

type kiroPart struct {
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data"`
}

func kiro(raw json.RawMessage) (entry, error) {
	var l struct {
		Kind string `json:"kind"`
		Data struct {
			ID      string     `json:"message_id"`
			Content []kiroPart `json:"content"`
			Meta    struct {
				Timestamp float64 `json:"timestamp"`
			} `json:"meta"`
		} `json:"data"`
	}
	if err := json.Unmarshal(raw, &l); err != nil {
		return entry{}, err
	}
	e := entry{id: l.Data.ID, name: ingest.Clip(l.Kind, maxName), role: kiroKinds[l.Kind], epoch: epoch(l.Data.Meta.Timestamp)}
	for _, p := range l.Data.Content {
		e.parts = append(e.parts, p.part())
	}
	return e, nil
}

func epoch(n float64) time.Time {
	const milliseconds = 1e11
	switch {
	case n <= 0 || n >= 1e14:
		return time.Time{}
	case n < milliseconds:
		n *= 1000
	}
	return time.UnixMilli(int64(n)).UTC()
}

func (k *kiroPart) part() part {
	p := part{kind: content, raw: ingest.JSON(k)}
	switch k.Kind {
	case "text":
		p.kind, p.text = text, ingest.Text(k.Data)
	case "thinking":
		p.kind = thought
	case "toolUse":
		var c struct {
			ID    string          `json:"toolUseId"`
			Name  string          `json:"name"`
			Input json.RawMessage `json:"input"`
		}
		if json.Unmarshal(k.Data, &c) == nil {
			p.kind, p.id, p.tool, p.args = call, c.ID, c.Name, c.Input
		}
	case "toolResult":
		var r struct {
			ID      string     `json:"toolUseId"`
			Status  string     `json:"status"`
			Content []kiroPart `json:"content"`
		}
		if json.Unmarshal(k.Data, &r) == nil {
			p.kind, p.id, p.outcome = result, r.ID, kiroOutcome(r.Status, r.Content)
		}
	}
	return p
}

func kiroOutcome(status string, list []kiroPart) events.ToolResultData {
	var ran struct {
		Exit   json.RawMessage `json:"exit_status"`
		Stderr string          `json:"stderr"`
	}
	output := ingest.JSON(list)
	if len(list) == 1 {
		output = list[0].Data
		_ = json.Unmarshal(output, &ran) // a text has no members
	}
	code := lastExit(ingest.Text(ran.Exit))
	data := told(status == "error" || code != nil && *code != 0, output)
	data.ExitCode = code
	if data.Error != nil && ran.Stderr != "" {
		data.Error.Message, data.Result = ingest.Clip(ran.Stderr, ingest.MaxMessage), output
	}
	return data
}
