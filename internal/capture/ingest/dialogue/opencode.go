package dialogue

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type openCodeInfo struct {
	ID        string `json:"id"`
	Session   string `json:"sessionID"`
	Parent    string `json:"parentID"` // of a session: the session that started it
	Title     string `json:"title"`
	Version   string `json:"version"`
	Directory string `json:"directory"`
	Role      string `json:"role"`
	Model     string `json:"modelID"`
	Finish    string `json:"finish"`
	Summary   any    `json:"summary"`
	Time      struct {
		Created   float64 `json:"created"`
		Completed float64 `json:"completed"`
	} `json:"time"`
	Cost   float64 `json:"cost"`
	Tokens struct {
		Input     float64 `json:"input"`
		Output    float64 `json:"output"`
		Reasoning float64 `json:"reasoning"`
		Cache     struct {
			Read  float64 `json:"read"`
			Write float64 `json:"write"`
		} `json:"cache"`
	} `json:"tokens"`
	Error *struct {
		Name string `json:"name"`
		Data struct {
			Message string `json:"message"`
		} `json:"data"`
	} `json:"error"`
}

func exported(ctx context.Context, d *dialogue, r io.Reader) bool {
	return d.Documents(ctx, r, func(f ingest.Fragment) {
		switch {
		case f.End:
			d.session = ""
		case f.Member == "info":
			var s openCodeInfo
			if err := json.Unmarshal(f.Text, &s); err != nil {
				d.WrongShape(err, true)
			}
			d.take(entry{
				role: silent, id: "session", session: s.ID, epoch: epoch(s.Time.Created), raw: f.Text,
				about: about{Cwd: s.Directory, Version: s.Version, Title: s.Title, parent: s.Parent},
			})
		case f.Member == "messages" && f.Element >= 0:
			d.take(d.openCodeMessage(f.Text))
		default:
			d.take(entry{name: ingest.Clip(f.Member, maxName), raw: f.Text})
		}
	}, "messages")
}

func (d *dialogue) openCodeMessage(raw json.RawMessage) entry {
	var m struct {
		Info  openCodeInfo      `json:"info"`
		Parts []json.RawMessage `json:"parts"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		d.WrongShape(err, true)
		return entry{name: "message", raw: raw}
	}
	e := entry{id: m.Info.ID, epoch: epoch(m.Info.Time.Created), raw: raw, name: "message." + ingest.Clip(m.Info.Role, maxName)}
	for _, raw := range m.Parts {
		if p, ok := openCodePart(raw); ok {
			e.parts = append(e.parts, p)
		}
	}
	switch m.Info.Role {
	case "user":
		e.role = user
	case "assistant":
		e.role = assistant
		m.Info.answered(&e)
	}
	return e
}

func (m *openCodeInfo) answered(e *entry) {
	t := m.Tokens
	e.model, e.stop, e.cost = m.Model, m.Finish, m.Cost
	e.tokens = counts(t.Input, t.Output+t.Reasoning, t.Cache.Read, t.Cache.Write)
	if m.Error == nil {
		return
	}
	if m.Error.Name == "MessageAbortedError" {
		e.interrupted = true
		return
	}
	said := cmp.Or(m.Error.Data.Message, m.Error.Name, "failed, and does not say why")
	e.failure = &events.Failure{Message: ingest.Clip(said, ingest.MaxMessage), Class: ingest.FailureClass(said)}
}

func openCodePart(raw json.RawMessage) (p part, ok bool) {
	var b struct {
		Type      string         `json:"type"`
		Text      string         `json:"text"`
		Synthetic bool           `json:"synthetic"`
		Call      string         `json:"callID"`
		Tool      string         `json:"tool"`
		State     openCodeResult `json:"state"`
	}
	p = part{kind: content, raw: raw}
	if json.Unmarshal(raw, &b) != nil {
		return p, true
	}
	switch b.Type {
	case "step-start", "step-finish":
		return p, false
	case "text":
		if !b.Synthetic {
			p.kind, p.text = text, b.Text
		}
	case "reasoning":
		p.kind = thought
	case "tool":
		p.kind, p.id, p.tool, p.args = call, b.Call, b.Tool, b.State.Input
		p.outcome, p.at = b.State.outcome(), epoch(b.State.Time.End)
	}
	return p, true
}

type openCodeResult struct {
	Status   string          `json:"status"`
	Input    json.RawMessage `json:"input"`
	Output   json.RawMessage `json:"output"`
	Error    string          `json:"error"`
	Metadata struct {
		Exit json.RawMessage `json:"exit"`
	} `json:"metadata"`
	Time struct {
		Start float64 `json:"start"`
		End   float64 `json:"end"`
	} `json:"time"`
}

func (r *openCodeResult) outcome() (data events.ToolResultData) {
	var code *int
	_ = json.Unmarshal(r.Metadata.Exit, &code) // null after a kill
	switch r.Status {
	case "completed":
		isKilled := string(r.Metadata.Exit) == "null"
		data = told(code != nil && *code != 0 || isKilled, r.Output)
		data.ExitCode = code
		if isKilled && strings.Contains(ingest.Text(r.Output), "User aborted the command") {
			data.Status, data.Error = events.ToolInterrupted, &events.Failure{Message: "aborted", Class: "interrupted"}
		}
	case "error":
		data = told(true, ingest.JSON(r.Error))
		if refused, by := ingest.OpenCodeRefusal(r.Error); refused != "" {
			data.Status, data.DeniedBy = refused, by
		}
	default:
		return events.ToolResultData{}
	}
	data.DurationMS = int64(min(max(0, r.Time.End-r.Time.Start), ingest.MaxCount))
	return data
}
