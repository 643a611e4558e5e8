package claude

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func (t *transcript) progress(r *run, l *line) {
	var data struct {
		Type      string `json:"type"`
		Agent     string `json:"agentId"`
		HookEvent string `json:"hookEvent"`
	}
	if json.Unmarshal(l.Data, &data) != nil {
		t.custom(r, l)
		return
	}
	if data.HookEvent == "SessionStart" && r.isSession() && l.ParentTool != r.startHook {
		t.sessionStart(r, l, false)
	}
	toolCall := ""
	if r.Called(l.ParentTool) {
		toolCall = l.ParentTool
		if k := r.tasks[toolCall]; k != nil && k.agent == "" && data.Agent != "" && ingest.Usable(data.Agent) {
			t.subagentStart(r, l, -1, toolCall, k, data.Agent)
		}
	}
	r.hookRan(data.HookEvent, toolCall)
	r.Emit(l.whole(), events.Custom, toolCall, events.CustomData{Name: "progress." + data.Type, Data: l.Data})
}

func (r *run) hookRan(event, toolCall string) {
	switch {
	case event == "PreToolUse" && toolCall != "" && !r.Answered(toolCall):
		r.hooked[toolCall] = true
	case event == "Stop" && r.isSession(), event == "SubagentStop" && !r.isSession():
		r.turnEnded()
	}
}

func (t *transcript) sessionStart(r *run, l *line, resumed bool) {
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
	r.Emit(l.whole(), events.SessionStart, "", start)
}

func (t *transcript) subagentStart(r *run, l *line, block int, toolCall string, k *task, agent string) {
	k.agent = agent
	r.Emit(l.at(block), events.SubagentStart, toolCall, events.SubagentStartData{
		Subagent: agent, Name: k.Description, Model: k.Model, TaskType: k.Type, Charter: k.Prompt,
	})
	k.Prompt = ""
}

type ownResult struct {
	DurationMS      json.RawMessage `json:"durationMs"`
	TotalDurationMS json.RawMessage `json:"totalDurationMs"`
	TotalTokens     json.RawMessage `json:"totalTokens"`
	TotalToolUse    json.RawMessage `json:"totalToolUseCount"`
	Agent           json.RawMessage `json:"agentId"`
	Status          json.RawMessage `json:"status"`
	Interrupted     bool            `json:"interrupted"`
}

func (o ownResult) duration() int64 {
	return max(ingest.Number(o.DurationMS), ingest.Number(o.TotalDurationMS))
}

func (t *transcript) subagentStopped(r *run, l *line, i int, toolCall string, own ownResult, status events.ToolStatus) {
	k := r.tasks[toolCall]
	if k.agent == "" {
		agent := ingest.Text(own.Agent)
		if agent == "" || !ingest.Usable(agent) {
			agent = toolCall
		}
		t.subagentStart(r, l, i, toolCall, k, agent)
	}
	if ingest.Text(own.Status) == "async_launched" {
		return
	}
	r.Emit(l.at(i), events.SubagentStopped, toolCall, events.SubagentStoppedData{
		Subagent: k.agent, Name: k.Description, Model: k.Model, Status: string(status),
		DurationMS: ingest.Number(own.TotalDurationMS), TotalTokens: ingest.Number(own.TotalTokens),
		ToolCalls: int(ingest.Number(own.TotalToolUse)),
	})
}

func (t *transcript) system(r *run, l *line) {
	switch l.Subtype {
	case "turn_duration":
		if s := r.Step(); s != nil {
			s.DurationMS = ingest.Number(l.DurationMS)
		}
		r.turnEnded()
	case "stop_hook_summary":
		r.turnEnded()
		t.custom(r, l)
	case "compact_boundary":
		var compact struct {
			Trigger   string          `json:"trigger"`
			PreTokens json.RawMessage `json:"preTokens"`
		}
		if json.Unmarshal(l.Compact, &compact) != nil {
			t.custom(r, l)
			return
		}
		r.Emit(l.whole(), events.CompactBefore, "", events.CompactBeforeData{
			Trigger: compact.Trigger, Tokens: ingest.Number(compact.PreTokens),
		})
	case "api_error":
		r.Emit(l.whole(), events.Error, "", events.ErrorData{
			Error: *apiFailure(string(l.Error), l.Error), ErrorType: "api_error",
			Attempt: int(ingest.Number(l.RetryAttempt)), BackoffMS: ingest.Number(l.RetryInMS), Retry: new(true),
			Common: events.Common{Raw: l.raw},
		})
	case "local_command":
		t.message(r, l, -1, "system", l.Content)
	default:
		t.custom(r, l)
	}
}

func (t *transcript) checkpoint(r *run, l *line) {
	var snapshot struct {
		Message string                     `json:"messageId"`
		Files   map[string]json.RawMessage `json:"trackedFileBackups"`
	}
	if json.Unmarshal(l.Snapshot, &snapshot) != nil || snapshot.Message == "" {
		t.custom(r, l)
		return
	}
	reason := "file history"
	if string(l.Update) == "true" {
		reason = "file history updated"
	}
	r.Emit(l.whole(), events.CheckpointCreated, "", events.CheckpointCreatedData{
		Checkpoint: snapshot.Message, Reason: reason, Files: slices.Sorted(maps.Keys(snapshot.Files)),
		Common: events.Common{Raw: l.Snapshot},
	})
}

func (t *transcript) custom(r *run, l *line) {
	name := cmp.Or(l.Type, "untyped")
	if l.Subtype != "" {
		name += "." + l.Subtype
	}
	r.Emit(l.whole(), events.Custom, "", events.CustomData{Name: name, Common: events.Common{Raw: l.raw}})
}
