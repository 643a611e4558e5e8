package ingest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// progress maps what a hook, a command or a sub-agent reported while it ran.
func (c *claude) progress(r *run, l *claudeLine) {
	var data struct {
		Type      string `json:"type"`
		Agent     string `json:"agentId"`
		HookEvent string `json:"hookEvent"`
	}
	if json.Unmarshal(l.Data, &data) != nil {
		c.custom(r, l)
		return
	}
	if data.HookEvent == "SessionStart" && r.agent == "" && l.ParentTool != r.startHook {
		c.sessionStart(r, l, false)
	}
	toolCall := ""
	if k := r.calls[l.ParentTool]; k != nil {
		toolCall = l.ParentTool
		if k.task != nil && k.task.agent == "" && data.Agent != "" && usable(data.Agent) {
			c.subagentStart(r, l, -1, toolCall, k.task, data.Agent)
		}
	}
	c.emit(r, l, events.Custom, -1, toolCall, events.CustomData{Name: "progress." + data.Type, Data: l.Data})
}

// sessionStart says how the session began, as its hooks were told.
func (c *claude) sessionStart(r *run, l *claudeLine, resumed bool) {
	var hook struct {
		Name string `json:"hookName"`
	}
	start := events.SessionStartData{}
	if json.Unmarshal(l.Data, &hook) == nil && strings.HasPrefix(hook.Name, "SessionStart:") {
		start.From = strings.TrimPrefix(hook.Name, "SessionStart:")
	} else if resumed {
		start.From = "resume"
	}
	r.hasStart, r.startHook = true, l.ParentTool
	c.emit(r, l, events.SessionStart, -1, "", start)
}

func (c *claude) subagentStart(r *run, l *claudeLine, block int, toolCall string, t *task, agent string) {
	t.agent = agent
	c.emit(r, l, events.SubagentStart, block, toolCall, events.SubagentStartData{
		Subagent: agent, Name: t.Description, Model: t.Model, TaskType: t.Type, Charter: t.Prompt,
	})
	t.Prompt = ""
}

// ownResult is what a tool's own copy of its result says about the call.
type ownResult struct {
	DurationMS      json.RawMessage `json:"durationMs"`
	TotalDurationMS json.RawMessage `json:"totalDurationMs"`
	TotalTokens     json.RawMessage `json:"totalTokens"`
	TotalToolUse    json.RawMessage `json:"totalToolUseCount"`
	Agent           json.RawMessage `json:"agentId"`
	Status          json.RawMessage `json:"status"`
}

func parseOwnResult(raw json.RawMessage) ownResult {
	var own ownResult
	if json.Unmarshal(raw, &own) != nil {
		return ownResult{}
	}
	return own
}

func (o ownResult) duration() int64 {
	return max(number(o.DurationMS), number(o.TotalDurationMS))
}

// subagentStopped ends the sub-agent of a call. One that was only launched, to
// run in the background, goes on.
func (c *claude) subagentStopped(r *run, l *claudeLine, i int, toolCall string, k *call, own ownResult, status events.ToolStatus) {
	t := k.task
	if t.agent == "" {
		agent := text(own.Agent)
		if agent == "" || !usable(agent) {
			agent = toolCall
		}
		c.subagentStart(r, l, i, toolCall, t, agent)
	}
	if text(own.Status) == "async_launched" {
		return
	}
	c.emit(r, l, events.SubagentStopped, i, toolCall, events.SubagentStoppedData{
		Subagent: t.agent, Name: t.Description, Model: t.Model, Status: string(status),
		DurationMS: number(own.TotalDurationMS), TotalTokens: number(own.TotalTokens),
		ToolCalls: int(number(own.TotalToolUse)),
	})
}

func (c *claude) system(r *run, l *claudeLine) {
	switch l.Subtype {
	case "turn_duration":
		if r.step != nil {
			r.step.durationMS = number(l.DurationMS)
		}
	case "compact_boundary":
		var compact struct {
			Trigger   string          `json:"trigger"`
			PreTokens json.RawMessage `json:"preTokens"`
		}
		if json.Unmarshal(l.Compact, &compact) != nil {
			c.custom(r, l)
			return
		}
		c.emit(r, l, events.CompactBefore, -1, "", events.CompactBeforeData{
			Trigger: compact.Trigger, Tokens: number(compact.PreTokens),
		})
	case "api_error":
		retry := true
		c.emit(r, l, events.Error, -1, "", events.ErrorData{
			Error: *apiFailure(string(l.Error), l.Error), ErrorType: "api_error",
			Attempt: int(number(l.RetryAttempt)), BackoffMS: number(l.RetryInMS), Retry: &retry,
			Common: events.Common{Raw: l.raw},
		})
	case "local_command":
		c.message(r, l, -1, "system", l.Content)
	default:
		c.custom(r, l)
	}
}

// checkpoint maps a snapshot of the files that the agent changed.
func (c *claude) checkpoint(r *run, l *claudeLine) {
	var snapshot struct {
		Message string                     `json:"messageId"`
		Files   map[string]json.RawMessage `json:"trackedFileBackups"`
	}
	if json.Unmarshal(l.Snapshot, &snapshot) != nil || snapshot.Message == "" {
		c.custom(r, l)
		return
	}
	reason := "file history"
	if string(l.Update) == "true" {
		reason = "file history updated"
	}
	c.emit(r, l, events.CheckpointCreated, -1, "", events.CheckpointCreatedData{
		Checkpoint: snapshot.Message, Reason: reason, Files: slices.Sorted(maps.Keys(snapshot.Files)),
		Common: events.Common{Raw: l.Snapshot},
	})
}

// custom keeps a line that has no kind of its own.
func (c *claude) custom(r *run, l *claudeLine) {
	name := l.Type
	if name == "" {
		name = "untyped"
	}
	if l.Subtype != "" {
		name += "." + l.Subtype
	}
	c.emit(r, l, events.Custom, -1, "", events.CustomData{Name: name, Common: events.Common{Raw: l.raw}})
}

// text returns raw where it is a string, else nothing.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
