package codex

import (
	"encoding/json"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type calls struct {
	session *session
	ends    map[string]ending
	spawns  map[string]spawn
}

func (c *calls) call(l *line, it responseItem, tool string, args json.RawMessage, mapped ...string) {
	id := l.callID(it.Call)
	if tool == "" {
		c.session.custom(l, "response_item."+it.Type)
		return
	}
	if !c.session.run.Call(l.origin, id, events.ToolBeforeData{Tool: tool, Args: args, Common: raw(ingest.Without(l.Payload, mapped...))}) {
		c.session.custom(l, it.Type+".repeated")
		return
	}
	if tool == "spawn_agent" {
		var sub spawn
		lenient(args, &sub)
		c.spawns[id] = sub
	}
}

func (c *calls) webSearch(l *line, it responseItem) {
	id := l.callID(it.ID)
	if !c.session.run.Call(l.origin, id, events.ToolBeforeData{Tool: "web_search", Args: it.Action}) {
		c.session.custom(l, it.Type+".repeated")
		return
	}
	if it.Status == "in_progress" || it.Status == "searching" {
		return
	}
	data := events.ToolResultData{Status: events.ToolSuccess, Common: raw(l.Payload)}
	if it.Status == "failed" {
		data.Status, data.Error = events.ToolError, &events.Failure{Message: "the search failed"}
	}
	c.session.run.Result(l.origin, id, data)
}

func (c *calls) result(l *line, it responseItem) {
	id := l.callID(it.Call)
	end := c.ends[id]
	delete(c.ends, id)
	end.server = strings.HasPrefix(c.session.run.Tool(id), "mcp__")
	end.read(it.Output)
	data := events.ToolResultData{
		Status: events.ToolSuccess, Result: it.Output, ExitCode: end.exit, DurationMS: end.durationMS,
		Common: raw(ingest.Without(l.Payload, "type", "call_id", "output")),
	}
	end.fill(&data, it.Output)
	if !c.session.run.Result(l.origin, id, data) {
		c.session.custom(l, it.Type+".repeated")
		return
	}
	if sub, ok := c.spawns[id]; ok {
		delete(c.spawns, id)
		c.spawned(l, id, sub, it.Output)
	}
}

func (c *calls) searched(l *line, it responseItem) {
	data := events.ToolResultData{Status: events.ToolSuccess, Result: it.Tools, Common: raw(ingest.Without(l.Payload, "type", "call_id", "tools"))}
	if it.Status == "failed" {
		data.Status, data.Error = events.ToolError, &events.Failure{Message: "the search failed"}
	}
	if !c.session.run.Result(l.origin, l.callID(it.Call), data) {
		c.session.custom(l, it.Type+".repeated")
	}
}

type spawn struct {
	Message string `json:"message"`
	Role    string `json:"agent_type"`
	Model   string `json:"model"`
}

func (c *calls) spawned(l *line, call string, sub spawn, output json.RawMessage) {
	var agent struct {
		ID       string `json:"agent_id"`
		Nickname string `json:"nickname"`
	}
	lenient([]byte(ingest.Flatten(output)), &agent)
	if agent.ID == "" || !ingest.Usable(agent.ID) {
		return
	}
	c.session.run.Emit(l.origin, events.SubagentStart, call, events.SubagentStartData{
		Subagent: agent.ID, Name: agent.Nickname, Model: sub.Model, TaskType: sub.Role, Charter: sub.Message,
	})
}

func (c *calls) ended(l *line, call string) {
	var report struct {
		Exit     *int            `json:"exit_code"`
		Success  *bool           `json:"success"`
		Duration json.RawMessage `json:"duration"`
		Result   struct {
			Err json.RawMessage `json:"Err"`
			Ok  struct {
				IsError bool `json:"isError"`
			} `json:"Ok"`
		} `json:"result"`
	}
	l.decode(&report)
	if call == "" {
		return
	}
	var duration struct {
		Seconds float64 `json:"secs"`
		Nanos   float64 `json:"nanos"`
	}
	lenient(report.Duration, &duration)
	end := ending{exit: report.Exit}
	end.failed = report.Success != nil && !*report.Success || report.Result.Err != nil || report.Result.Ok.IsError
	end.message = ingest.Text(report.Result.Err)
	end.took(duration.Seconds + duration.Nanos/1e9)
	c.ends[call] = end
}
