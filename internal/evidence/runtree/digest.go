package runtree

import (
	"cmp"
	"encoding/json"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type (
	call struct {
		name, detail, reason string
		hook                 string // that denied the call
		verdict              events.Verdict
		patched              bool // the detail has the arguments as hooks changed them
	}
	answer struct {
		name       string
		status     events.ToolStatus
		by         events.DeniedBy
		exit       *int
		failure    *events.Failure
		durationMS int64
		subagent   string // id of the sub-agent in the result
	}
	started  struct{ version, cwd, model, branch string }
	subagent struct{ id, name, kind string }
	response struct {
		message, model string
		tokens         *events.Tokens
		telemetry      bool
		cost           *events.Cost
	}
	problem struct { // of a hook command
		Name      string `json:"name"`
		Undecided bool   `json:"undecided"`
	}
	plain struct{ text string } // text of a prompt, or trigger of a compaction
)

var digests = map[events.Kind]func(events.Event) any{
	events.RunStarted: digest(func(p events.RunStartedData) any {
		branch, _ := p.Metadata["git_branch"].(string)
		return started{p.Version, p.Cwd, p.Model, branch}
	}),
	events.RunFinished: digest(func(p events.RunFinishedData) any {
		return events.RunFinishedData{Success: p.Success, RunStatus: p.Status(), Reason: Clip(p.Reason, maxReason), TokensUsed: p.TokensUsed, Cost: p.Cost}
	}),
	events.PromptSubmit: digest(func(p events.PromptSubmitData) any { return plain{p.Prompt} }),
	events.StepFinished: digest(func(p events.StepFinishedData) any {
		return events.StepFinishedData{
			StepStatus: p.StepStatus, InputSummary: p.InputSummary, OutputSummary: p.OutputSummary,
			DurationMS: p.DurationMS, TokensUsed: p.TokensUsed, Error: p.Error,
		}
	}),
	events.ToolBefore: digest(func(p events.ToolBeforeData) any {
		return call{p.Tool, detail(p.CallArgs()), OneLine(p.Reason), denier(p.Executions), p.Verdict, len(p.PatchedArgs) > 0}
	}),
	events.Approval: digest(func(p events.ApprovalData) any {
		return call{p.Tool, detail(p.Args), OneLine(p.Reason), denier(p.Executions), p.Verdict, false}
	}),
	events.ToolResult: digest(func(p events.ToolResultData) any {
		return answer{p.Tool, p.Status, p.DeniedBy, p.ExitCode, short(p.Error), p.DurationMS, named(p.Result)}
	}),
	events.SubagentStart: digest(func(p events.SubagentStartData) any {
		return subagent{p.Subagent, p.Name, p.TaskType}
	}),
	events.SubagentStopped: digest(func(p events.SubagentStoppedData) any {
		return subagent{id: p.Subagent, name: p.Name}
	}),
	events.ResponseCompleted: digest(func(p events.ResponseCompletedData) any {
		return response{p.Message, p.Model, p.TokensUsed, p.Telemetry, p.Cost}
	}),
	events.Error: digest(func(p events.ErrorData) any {
		return events.ErrorData{Error: p.Error, ErrorType: p.ErrorType}
	}),
	events.Custom: digest(func(p problem) any {
		if p.Name == events.HookProblem && p.Undecided {
			return p
		}
		return nil
	}),
	events.CompactBefore: digest(func(p events.CompactBeforeData) any { return plain{p.Trigger} }),
}

func denier(all []events.Execution) string {
	for _, x := range all {
		if x.Verdict == events.VerdictDeny {
			return cmp.Or(x.Name, x.Hook)
		}
	}
	return ""
}

func digest[T any](pick func(T) any) func(events.Event) any {
	return func(e events.Event) any {
		p, err := events.Payload[T](e)
		if err != nil {
			return nil
		}
		return pick(p)
	}
}

func short(f *events.Failure) *events.Failure {
	if f == nil {
		return nil
	}
	return &events.Failure{Message: ends(f.Message, maxFailure), Class: f.Class}
}

func ends(s string, width int) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	return string(r[:width/2]) + " … " + string(r[len(r)-width/2:])
}

const (
	maxFailure = 4 << 10
	maxReason  = 200
)

func named(result json.RawMessage) string {
	if len(result) == 0 || result[0] != '{' {
		return ""
	}
	var r struct {
		Agent string `json:"agentId"`
	}
	if json.Unmarshal(result, &r) != nil {
		return ""
	}
	return r.Agent
}
