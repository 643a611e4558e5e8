package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// CopilotEvents yields the events of a Copilot CLI session, which is a file events.jsonl.
//
// The session is a run, and so is each sub-agent. The events of a run are
//
//	run.started, session.start       at session.start, or its first line
//	prompt.submit                    user.message; begins a step with the id of the message
//	tool.before, tool.result         tool.execution_start and _complete, paired by toolCallId
//	response.completed               session.usage_record: one API call
//	message.created                  assistant.message
//	subagent.start, subagent.stopped subagent.started, .completed and .failed
//	model.switched, error            session.model_change, session.error
//	session.ended                    session.shutdown
//	custom                           every other line
//	step.finished, run.finished      at the next prompt, and the end of the input
//
// The raw member of an event contains the line.
func CopilotEvents(ctx context.Context, r io.Reader, opts ingest.Options) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		c := &copilotLog{m: ingest.NewEmitter(copilotCLI.name, opts, yield), opts: opts, calls: map[string]string{}}
		c.m.Lines(ctx, r, c.read)
		c.m.Finish()
	}
}

// DetectCopilotEvents reports whether [CopilotEvents] can read an input that begins
// with head.
func DetectCopilotEvents(head []byte, _ string) bool {
	for in := range ingest.HeadObjects(head) {
		o := object(in)
		_, hasParent := o["parentId"]
		return hasParent && strings.Contains(o.text("type"), ".") && o.raw("data") != nil && o.raw("id") != nil
	}
	return false
}

type copilotLog struct {
	m       *ingest.Emitter
	opts    ingest.Options
	session string
	last    time.Time
	calls   map[string]string // ids of calls, by the written id
}

type copilotLine struct {
	typ   string
	agent string
	data  object
	raw   json.RawMessage
	at    ingest.Origin
}

func (c *copilotLog) read(in ingest.Line) {
	o := objectOf(in.Text)
	raw, ok := storable(in.Text)
	switch {
	case o == nil && json.Valid(in.Text):
		c.m.Fault("not a JSON object", false)
		return
	case o == nil:
		c.m.NotJSON(in, json.Unmarshal(in.Text, new(any)), false)
		return
	case !ok:
		raw = ingest.JSON(string(in.Text))
		c.m.Fault("nested more than 512 deep, kept as text", true)
	}
	l := copilotLine{typ: o.text("type"), agent: ident(o.text("agentId")), data: o.object("data"), raw: raw}
	if t, ok := o.moment("timestamp"); ok {
		c.last = t
	} else if c.last.IsZero() {
		c.last = c.m.Now()
	}
	l.at = ingest.Origin{ID: ident(o.text("id")), Block: -1, Time: c.last}
	if l.at.ID == "" {
		l.at.ID = c.m.LineID(in.Text)
	}
	if c.session == "" {
		c.session = c.sessionOf(l)
	}
	r := c.run(l)
	r.Touch(l.at.Time)
	if add, ok := copilotLines[l.typ]; ok {
		add(c, r, l)
	} else {
		c.custom(r, l)
	}
}

func (c *copilotLog) sessionOf(l copilotLine) string {
	if id := ident(l.data.text("sessionId")); id != "" {
		return id
	}
	if dir := filepath.Base(filepath.Dir(c.opts.File)); filepath.Base(c.opts.File) == "events.jsonl" && len(dir) > 1 && ingest.Usable(dir) {
		return dir
	}
	return ingest.SessionOf(c.opts.File)
}

func (c *copilotLog) run(l copilotLine) *ingest.Run {
	id := ingest.Identity{Run: c.session, Session: c.session, Agent: copilotCLI.name}
	if l.agent != "" {
		id = ingest.Identity{Run: l.agent, Session: l.agent, Agent: l.agent, ParentRun: c.session, ParentAgent: copilotCLI.name}
	}
	return c.m.Run(id, l.at, events.RunStartedData{
		Version: l.data.text("copilotVersion"), Model: l.data.text("selectedModel", "model"), Cwd: l.data.object("context").text("cwd"),
		Title: l.data.text("agentDisplayName"),
	})
}

func (c *copilotLog) parent(l copilotLine) *ingest.Run {
	l.agent = ""
	return c.run(l)
}

var copilotLines = map[string]func(c *copilotLog, r *ingest.Run, l copilotLine){
	"session.start":           (*copilotLog).start,
	"session.resume":          (*copilotLog).start,
	"user.message":            (*copilotLog).prompt,
	"assistant.message":       (*copilotLog).answer,
	"session.usage_record":    (*copilotLog).usage,
	"tool.execution_start":    (*copilotLog).called,
	"tool.execution_complete": (*copilotLog).result,
	"subagent.started":        (*copilotLog).subagent,
	"subagent.completed":      (*copilotLog).subagent,
	"subagent.failed":         (*copilotLog).subagent,
	"session.model_change":    (*copilotLog).switched,
	"session.error":           (*copilotLog).failed,
	"session.shutdown":        (*copilotLog).shutdown,
}

func (c *copilotLog) start(r *ingest.Run, l copilotLine) {
	from := strings.TrimPrefix(l.typ, "session.")
	r.Emit(l.at, events.SessionStart, "", events.SessionStartData{From: from, Model: l.data.text("selectedModel"), Common: l.common()})
}

func (c *copilotLog) prompt(r *ingest.Run, l copilotLine) {
	l.at.Step = r.HookPrompt(l.data.text("content"))
	r.Prompt(l.at, events.PromptSubmitData{Prompt: l.data.text("content"), Common: l.common()})
}

func (c *copilotLog) called(r *ingest.Run, l copilotLine) {
	data := events.ToolBeforeData{Tool: l.data.text("toolName"), Args: l.data.raw("arguments"), Common: l.common()}
	written := ident(l.data.text("toolCallId"))
	if written == "" || c.calls[written] != "" {
		c.custom(r, l)
		return
	}
	c.calls[written] = r.HookCall(data.Tool, data.Args)
	r.Call(l.at, c.calls[written], data)
}

func (c *copilotLog) callID(l copilotLine) string {
	written := ident(l.data.text("toolCallId"))
	if written != "" && c.calls[written] == "" { // a result without a call
		c.calls[written] = written
	}
	return c.calls[written]
}

func (c *copilotLog) switched(r *ingest.Run, l copilotLine) {
	r.Emit(l.at, events.ModelSwitched, "", events.ModelSwitchedData{
		From: l.data.text("previousModel"), To: l.data.text("newModel"), Reason: l.data.text("source"), Common: l.common(),
	})
}

func (c *copilotLog) failed(r *ingest.Run, l copilotLine) {
	message := cmp.Or(l.data.text("message"), copilotError(l.data))
	r.Emit(l.at, events.Error, "", events.ErrorData{
		Error: events.Failure{Message: ingest.Clip(message, maxSummary)}, ErrorType: l.data.text("errorType"), Common: l.common(),
	})
}

func (l copilotLine) common() events.Common { return events.Common{Raw: l.raw} }

func (c *copilotLog) custom(r *ingest.Run, l copilotLine) {
	r.Emit(l.at, events.Custom, "", events.CustomData{Name: ingest.Clip(l.typ, ingest.MaxID), Common: l.common()})
}

func (c *copilotLog) answer(r *ingest.Run, l copilotLine) {
	text := l.data.text("content")
	if text != "" && r.Step() != nil {
		r.Step().Answer(text)
	}
	r.Emit(l.at, events.MessageCreated, "", events.MessageData{
		Message: l.data.text("messageId"), Role: "assistant", Content: l.data.raw("content"), Common: l.common(),
	})
}

func (c *copilotLog) usage(r *ingest.Run, l copilotLine) {
	usage := l.data.object("usage")
	cached := usage.number("cacheReadTokens")
	tokens := events.Tokens{
		Input: max(0, usage.number("inputTokens")-cached), Output: usage.number("outputTokens"),
		CacheRead: cached, CacheCreation: usage.number("cacheWriteTokens"),
	}
	r.Spend(tokens)
	r.Emit(l.at, events.ResponseCompleted, "", events.ResponseCompletedData{
		Message: cmp.Or(usage.text("apiCallId"), l.at.ID), Model: usage.text("model"), StopReason: usage.text("finishReason"),
		TokensUsed: &tokens, DurationMS: usage.number("duration"), Common: l.common(),
	})
}

func (c *copilotLog) result(r *ingest.Run, l copilotLine) {
	data := events.ToolResultData{Status: events.ToolSuccess, Result: l.data.raw("result"), Common: l.common()}
	if exit := l.data.object("shellExecution").raw("exitCode"); exit != nil {
		data.ExitCode = exitCode(string(exit))
	}
	content := l.data.object("result").text("content")
	switch {
	case string(l.data["success"]) == "false":
		failure := l.data.object("error")
		data.Status = events.ToolError
		data.Error = &events.Failure{
			Message: ingest.Clip(cmp.Or(failure.text("message"), l.data.text("error"), content), maxSummary), Class: ingest.Clip(failure.text("code"), ingest.MaxID),
		}
		if status, by := copilotRefusal(failure.text("code"), data.Error.Message); status != "" {
			data.Status, data.DeniedBy = status, by
		}
	case data.ExitCode != nil && *data.ExitCode != 0:
		data.Status = events.ToolError
		text := copilotExit().ReplaceAllString(strings.TrimRight(content, " \r\n"), "")
		data.Error = &events.Failure{Message: ingest.Clip(strings.TrimSpace(text), maxSummary)}
	}
	if id := c.callID(l); id == "" || !r.Result(l.at, id, data) {
		c.custom(r, l)
	}
}

func (c *copilotLog) subagent(r *ingest.Run, l copilotLine) {
	call := c.callID(l)
	name := cmp.Or(l.data.text("agentDisplayName"), l.data.text("agentName"))
	if l.agent == "" {
		c.custom(r, l)
		return
	}
	if l.typ == "subagent.started" {
		c.parent(l).Emit(l.at, events.SubagentStart, call, events.SubagentStartData{
			Subagent: l.agent, Name: name, Model: l.data.text("model"), TaskType: l.data.text("agentType", "agentName"), Common: l.common(),
		})
		return
	}
	status := string(events.ToolSuccess)
	if l.typ == "subagent.failed" {
		status = string(events.ToolError)
		r.Failure = &events.Failure{Message: ingest.Clip(l.data.text("error"), maxSummary)}
	}
	c.parent(l).Emit(l.at, events.SubagentStopped, call, events.SubagentStoppedData{
		Subagent: l.agent, Name: name, Model: l.data.text("model"), Status: status, DurationMS: l.data.number("durationMs"),
		TotalTokens: l.data.number("totalTokens"), ToolCalls: int(l.data.number("totalToolCalls")), Common: l.common(),
	})
}

func (c *copilotLog) shutdown(r *ingest.Run, l copilotLine) {
	data := events.SessionEndedData{Reason: l.data.text("shutdownType"), Common: l.common()}
	snapshot := l.data.object("accountingSnapshot")
	if snapshot == nil {
		snapshot = l.data
	}
	for _, file := range listOf(snapshot.object("codeChanges").raw("filesModified")) {
		if name, ok := textOf(file); ok {
			data.Files = append(data.Files, name)
		}
	}
	r.Emit(l.at, events.SessionEnded, "", data)
}
