package dialogue

import (
	"encoding/json"
	"strings"
)

type iflowLine struct {
	Type      string `json:"type"`
	UUID      string `json:"uuid"`
	Session   string `json:"sessionId"`
	Agent     string `json:"agentId"`
	Timestamp string `json:"timestamp"`
	Cwd       string `json:"cwd"`
	Version   string `json:"version"`
	Branch    string `json:"gitBranch"`
	Meta      bool   `json:"isMeta"`
	Summary   bool   `json:"isCompactSummary"`
	Message   struct {
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
		Stop    string          `json:"stop_reason"`
		Usage   json.RawMessage `json:"usage"`
	} `json:"message"`
	Result json.RawMessage `json:"toolUseResult"`
}

func iflow(raw json.RawMessage) (entry, error) {
	var l iflowLine
	err := json.Unmarshal(raw, &l)
	e := entry{
		id: l.UUID, when: l.Timestamp, session: l.Session, agent: l.Agent, name: l.Type,
		about: about{Cwd: l.Cwd, Version: l.Version, Branch: l.Branch},
	}
	if err != nil {
		return e, err
	}
	e.parts, err = blocks(l.Message.Content)
	for i := range e.parts {
		if e.parts[i].kind == result {
			l.judge(&e.parts[i])
		}
	}
	switch l.Type {
	case "user":
		e.role, e.injected = user, l.Meta || l.Summary
		if len(e.parts) > 0 && strings.HasPrefix(e.parts[0].text, "[Request interrupted by user") {
			e.role, e.interrupted = assistant, true
		}
	case "assistant":
		var u struct {
			Input  float64 `json:"input_tokens"`
			Output float64 `json:"output_tokens"`
			Read   float64 `json:"cache_read_input_tokens"`
			Write  float64 `json:"cache_creation_input_tokens"`
		}
		e.role, e.model, e.stop, e.usage = assistant, l.Message.Model, l.Message.Stop, l.Message.Usage
		if len(l.Message.Usage) > 0 && json.Unmarshal(l.Message.Usage, &u) == nil {
			e.tokens = counts(u.Input, u.Output, u.Read, u.Write)
		}
	}
	return e, err
}

func (l *iflowLine) judge(p *part) {
	var b struct {
		IsError bool            `json:"is_error"`
		Content json.RawMessage `json:"content"`
	}
	var inside struct {
		Response *functionResponse `json:"functionResponse"`
		Parts    struct {
			Response *functionResponse `json:"functionResponse"`
		} `json:"responseParts"`
	}
	var own struct {
		Status string `json:"status"`
	}
	_ = json.Unmarshal(l.Result, &own) // own stays empty if the result has another type
	if json.Unmarshal(p.raw, &b) != nil || json.Unmarshal(b.Content, &inside) != nil {
		return
	}
	response := inside.Parts.Response
	if response == nil {
		response = inside.Response
	}
	if response == nil {
		return
	}
	if b.IsError && own.Status == "" {
		own.Status = "error"
	}
	p.tool = response.Name
	p.outcome = response.outcome(own.Status, "", b.Content)
}
