package dialogue

import (
	"cmp"
	"encoding/json"
	"regexp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/gemini"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type qwenLine struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	UUID      string `json:"uuid"`
	Session   string `json:"sessionId"`
	Agent     string `json:"agentId"`
	Timestamp string `json:"timestamp"`
	Cwd       string `json:"cwd"`
	Version   string `json:"version"`
	Branch    string `json:"gitBranch"`
	Model     string `json:"model"`
	Source    string `json:"provenance"`
	Message   struct {
		Parts []json.RawMessage `json:"parts"`
	} `json:"message"`
	Usage  json.RawMessage `json:"usageMetadata"`
	Result struct {
		Call      string `json:"callId"`
		Status    string `json:"status"`
		ErrorType string `json:"errorType"`
	} `json:"toolCallResult"`
}

func qwen(raw json.RawMessage) (entry, error) {
	var l qwenLine
	err := json.Unmarshal(raw, &l)
	e := entry{
		id: l.UUID, when: l.Timestamp, session: l.Session, agent: l.Agent, model: l.Model, name: l.Type,
		about: about{Cwd: l.Cwd, Version: l.Version, Branch: l.Branch},
	}
	if err != nil {
		return e, err
	}
	switch {
	case l.Type == "user", l.Type == "tool_result":
		e.role = user
		e.injected = l.Subtype != "" && l.Subtype != "mid_turn_user_message" && l.Source != "real_user"
	case l.Type == "assistant":
		e.role = assistant
		e.tokens, e.usage = geminiUsage(l.Usage), l.Usage
	case l.Subtype == "chat_compression":
		e.role = compaction
	case l.Subtype != "":
		e.name += "." + l.Subtype
	}
	for _, part := range l.Message.Parts {
		e.parts = append(e.parts, l.part(part))
	}
	return e, nil
}

type geminiPart struct {
	Text    *string `json:"text"`
	Thought bool    `json:"thought"`
	Call    *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *functionResponse `json:"functionResponse"`
}

type functionResponse struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Response struct {
		Output json.RawMessage `json:"output"`
		Error  json.RawMessage `json:"error"`
	} `json:"response"`
}

func (l *qwenLine) part(raw json.RawMessage) part {
	var g geminiPart
	p := part{kind: content, raw: raw}
	if json.Unmarshal(raw, &g) != nil {
		return p
	}
	switch {
	case g.Call != nil && g.Call.Name != "":
		p.kind, p.id, p.tool, p.args = call, g.Call.ID, g.Call.Name, g.Call.Args
	case g.Response != nil:
		p.kind, p.id, p.tool = result, cmp.Or(l.Result.Call, g.Response.ID), g.Response.Name
		p.outcome = g.Response.outcome(l.Result.Status, l.Result.ErrorType, raw)
	case g.Text != nil && g.Thought:
		p.kind = thought
	case g.Text != nil:
		p.kind, p.text = text, *g.Text
	}
	return p
}

// permissionText is the beginning of the text with which a fork of Gemini CLI refuses a call.
var permissionText = regexp.MustCompile(`^\w+(?: \w+)? requires permission to use `)

func (f *functionResponse) outcome(status, kind string, raw json.RawMessage) events.ToolResultData {
	failure := ingest.Text(f.Response.Error)
	said := failure + ingest.Text(f.Response.Output)
	if status == "" || status == "success" && failure != "" {
		status = "success"
		if failure != "" {
			status = "error"
		}
	}
	data := gemini.Outcome(f.Name, status, said, raw)
	refused := data.ExitCode == nil && !gemini.OfServer(f.Name) && permissionText.MatchString(failure)
	if kind == "execution_denied" || refused {
		data.Status, data.DeniedBy = events.ToolDenied, events.DeniedByPermissions
		if data.Error == nil {
			data.Error, data.Result = ingest.Failed(said, raw)
		}
	}
	return data
}

// geminiUsage compares the counts with the total, because some services already count thoughts as
// output.
func geminiUsage(raw json.RawMessage) *events.Tokens {
	var u struct {
		Input    float64 `json:"promptTokenCount"`
		Output   float64 `json:"candidatesTokenCount"`
		Cached   float64 `json:"cachedContentTokenCount"`
		Thoughts float64 `json:"thoughtsTokenCount"`
		Tool     float64 `json:"toolUsePromptTokenCount"`
		Total    float64 `json:"totalTokenCount"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &u) != nil || !ingest.AreCounts(u.Input, u.Output, u.Cached, u.Thoughts, u.Tool, u.Total) {
		return nil
	}
	output := u.Output + u.Thoughts
	if u.Total == u.Input+u.Output+u.Tool {
		output = u.Output
	}
	cached := min(u.Cached, u.Input)
	return counts(u.Input-cached+u.Tool, output, cached, 0)
}
