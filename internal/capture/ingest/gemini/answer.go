package gemini

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type answered struct {
	*ingest.Emitter
	opts ingest.Options
	run  *ingest.Run
}

type recorded struct {
	Method   string          `json:"method"`
	Response json.RawMessage `json:"response"`
}

type piece struct {
	Candidates []struct {
		Content struct {
			Parts []part `json:"parts"`
		} `json:"content"`
		Finish string `json:"finishReason"`
	} `json:"candidates"`
	Model string `json:"modelVersion"`
	Usage *struct {
		Input    float64 `json:"promptTokenCount"`
		Output   float64 `json:"candidatesTokenCount"`
		Cached   float64 `json:"cachedContentTokenCount"`
		Thoughts float64 `json:"thoughtsTokenCount"`
		Tool     float64 `json:"toolUsePromptTokenCount"`
	} `json:"usageMetadata"`
}

type part struct {
	Text    string `json:"text"`
	Thought bool   `json:"thought"`
	Call    *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
}

func (a *answered) line(in ingest.Line) {
	var r recorded
	text, _ := a.Decode(in, &r)
	if text == nil {
		return
	}
	p := ingest.Origin{ID: a.LineID(text), Time: a.Now()}
	if a.run == nil {
		session := ingest.SessionOf(a.opts.File)
		a.run = a.Run(ingest.Identity{Run: session, Session: session, Agent: Source}, p, events.RunStartedData{})
	}
	a.run.Touch(p.Time)
	pieces, ok := r.pieces()
	if !ok || r.Method != "generateContent" && r.Method != "generateContentStream" {
		a.run.Emit(p, events.Custom, "", events.CustomData{Name: r.Method, Common: events.Common{Raw: text}})
		return
	}
	a.answer(p, pieces, text)
}

func (r recorded) pieces() (list []piece, ok bool) {
	if len(r.Response) > 0 && r.Response[0] == '{' {
		list = make([]piece, 1)
		return list, json.Unmarshal(r.Response, &list[0]) == nil
	}
	return list, json.Unmarshal(r.Response, &list) == nil
}

func (a *answered) answer(p ingest.Origin, pieces []piece, raw json.RawMessage) {
	step := a.run.Open(p, "")
	data := events.ResponseCompletedData{Message: p.ID, Common: events.Common{Raw: raw}}
	var said, thought strings.Builder
	calls := 0
	for _, piece := range pieces {
		for _, part := range piece.parts() {
			switch {
			case part.Call != nil && part.Call.Name != "":
				at := ingest.Origin{ID: p.ID, Block: calls, Time: p.Time}
				a.run.Call(at, p.ID+"/"+strconv.Itoa(calls), events.ToolBeforeData{Tool: part.Call.Name, Args: part.Call.Args})
				calls++
			case part.Thought:
				thought.WriteString(part.Text)
			default:
				said.WriteString(part.Text)
			}
		}
		piece.add(&data)
	}
	for i, text := range []string{thought.String(), said.String()} {
		if text != "" {
			at := p
			at.Block = i
			a.run.Emit(at, events.MessageCreated, "", events.MessageData{Message: p.ID, Role: "assistant", Content: ingest.JSON(text)})
		}
	}
	step.Answer(said.String())
	if data.TokensUsed != nil {
		a.run.Spend(*data.TokensUsed)
	}
	a.run.Emit(p, events.ResponseCompleted, "", data)
}

func (p piece) parts() (list []part) {
	for _, c := range p.Candidates {
		list = append(list, c.Content.Parts...)
	}
	return list
}

func (p piece) add(data *events.ResponseCompletedData) {
	for _, c := range p.Candidates {
		if c.Finish != "" {
			data.StopReason = c.Finish
		}
	}
	if p.Model != "" {
		data.Model = p.Model
	}
	if p.Usage != nil {
		if tokens, ok := usage(*p.Usage).tokens(); ok {
			data.TokensUsed = &tokens
		}
	}
}
