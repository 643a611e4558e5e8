package hooks

import (
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

var promptSubmitRules = decisionRules[Prompt, PromptPatch]{
	apply: func(in *Prompt, sum *PromptPatch, p PromptPatch) (bool, error) {
		modified := len(p.Directives) > 0
		sum.Directives = append(sum.Directives, p.Directives...)
		if p.Prompt != nil {
			modified = modified || *p.Prompt != in.Text
			in.Text, sum.Prompt = *p.Prompt, p.Prompt
		}
		return modified, nil
	},
	payload: func(_ Prompt, out *Outcome[Prompt, PromptPatch]) any {
		return events.PromptSubmitData{Prompt: out.Input.Text, Directives: out.Patch.Directives, Outcome: outcomeOf(out)}
	},
}

var sessionStartRules = decisionRules[Session, SessionPatch]{
	gathered: true,
	noDeny:   true,
	apply: func(in *Session, sum *SessionPatch, p SessionPatch) (bool, error) {
		if err := mergeBoth(&in.Config, &sum.Config, p.Config); err != nil {
			return false, err
		}
		modified := p.Config != "" || p.Model != "" && p.Model != in.Model
		if p.Model != "" {
			in.Model, sum.Model = p.Model, p.Model
		}
		return modified, nil
	},
	payload: func(_ Session, out *Outcome[Session, SessionPatch]) any {
		in := out.Input
		return events.SessionStartData{
			From: in.From, Model: in.Model, Charter: in.Charter, Config: rawOf(in.Config), Outcome: outcomeOf(out),
		}
	},
}

var subagentStartRules = decisionRules[Subagent, SubagentPatch]{
	apply: func(in *Subagent, sum *SubagentPatch, p SubagentPatch) (bool, error) {
		if p.Model == "" {
			return false, nil
		}
		modified := p.Model != in.Model
		in.Model, sum.Model = p.Model, p.Model
		return modified, nil
	},
	payload: func(_ Subagent, out *Outcome[Subagent, SubagentPatch]) any {
		in := out.Input
		return events.SubagentStartData{
			Subagent: in.ID, Name: in.Name, Model: in.Model, TaskType: in.TaskType, Charter: in.Charter, Outcome: outcomeOf(out),
		}
	},
}

var compactBeforeRules = decisionRules[Compaction, CompactionPatch]{
	gathered: true,
	apply: func(_ *Compaction, sum *CompactionPatch, p CompactionPatch) (bool, error) {
		export, err := mergeObjects(sum.Export, p.Export)
		if err != nil {
			return false, err
		}
		sum.Export = export
		sum.Preserve = slices.Concat(sum.Preserve, p.Preserve)
		return p.Export != "" || len(p.Preserve) > 0, nil
	},
	payload: func(in Compaction, out *Outcome[Compaction, CompactionPatch]) any {
		return events.CompactBeforeData{
			Trigger: in.Trigger, Strategy: in.Strategy, Tokens: in.Tokens, MaxTokens: in.MaxTokens,
			Preserve: out.Patch.Preserve, Export: membersOf(out.Patch.Export), Outcome: outcomeOf(out),
		}
	},
}

var stepBeforeRules = decisionRules[Step, StepPatch]{
	gathered: true,
	apply: func(in *Step, sum *StepPatch, p StepPatch) (bool, error) {
		if err := mergeBoth(&in.State, &sum.State, p.State); err != nil {
			return false, err
		}
		return p.State != "", nil
	},
	payload: func(asked Step, out *Outcome[Step, StepPatch]) any {
		return events.StepBeforeData{State: rawOf(asked.State), Merged: rawOf(out.Patch.State), Outcome: outcomeOf(out)}
	},
}

func errorPayload(f Failure, out *Recovered) events.ErrorData {
	data := events.ErrorData{
		ErrorType: string(f.Type), Model: f.Model, Attempt: f.Attempt,
		Outcome: events.Outcome{Executions: out.Executions},
	}
	if f.Err != nil {
		data.Error.Message = f.Err.Error()
	}
	if r := out.Recovery; r != nil {
		data.Retry, data.Fallback, data.BackoffMS = &r.Retry, r.Fallback, r.Backoff.Milliseconds()
	}
	return data
}

// Prompt is the input of [PromptSubmit].
type Prompt struct {
	Text string `json:"prompt"`
}

// PromptPatch changes a prompt.
type PromptPatch struct {
	Prompt     *string  `json:"prompt,omitempty"`     // the new text, nil to keep the text
	Directives []string `json:"directives,omitempty"` // standing instructions from the prompt
}

// Session is the input of [SessionStart].
type Session struct {
	From    string `json:"from,omitempty"` // startup, resume, clear or compact
	Model   string `json:"model,omitempty"`
	Charter string `json:"charter,omitempty"` // purpose of the agent
	Config  JSON   `json:"config,omitempty"`  // an object
}

// SessionPatch changes the configuration of a session.
type SessionPatch struct {
	Model  string `json:"model,omitempty"`
	Config JSON   `json:"config,omitempty"` // an object, merged by keys
}

// Subagent is the input of [SubagentStart].
type Subagent struct {
	ID       string `json:"subagent,omitempty"`
	Name     string `json:"name,omitempty"`
	Model    string `json:"model,omitempty"`
	TaskType string `json:"task_type,omitempty"`
	Charter  string `json:"charter,omitempty"` // a text or the path of a file
}

// SubagentPatch changes a sub-agent.
type SubagentPatch struct {
	Model string `json:"model,omitempty"`
}

// Compaction is the input of [CompactBefore].
type Compaction struct {
	Trigger   string `json:"trigger,omitempty"` // auto or manual
	Strategy  string `json:"strategy,omitempty"`
	Tokens    int64  `json:"tokens,omitempty"`
	MaxTokens int64  `json:"max_tokens,omitempty"`
}

// CompactionPatch saves information that would be lost in a compaction.
type CompactionPatch struct {
	Preserve []string `json:"preserve,omitempty"` // texts that stay in the context
	Export   JSON     `json:"export,omitempty"`   // an object, merged by keys
}

// Step is the input of [StepBefore]: the state with which an agent starts.
type Step struct {
	State JSON `json:"state,omitempty"` // an object
}

// StepPatch adds members to the state with which an agent starts a step.
type StepPatch struct {
	State JSON `json:"state,omitempty"` // an object, merged by keys
}

// StepState describes the agent whose output the hooks of [StepOutput] change.
type StepState struct {
	Agent string
	State JSON // state with which the agent started
}

// ErrorType describes where an error comes from.
type ErrorType string

// The origins of errors.
const (
	ModelError           ErrorType = "model"
	ToolError            ErrorType = "tool"
	NetworkError         ErrorType = "network"
	PermissionError      ErrorType = "permission"
	ContextOverflowError ErrorType = "context_overflow"
	UnknownError         ErrorType = "unknown"
)

// Failure is the input of [Error].
type Failure struct {
	Err     error
	Type    ErrorType
	Model   string // the model in use
	Attempt int    // number of the attempt, from 1, or 0 if unknown
}

// Recovery describes how a run continues after an error.
type Recovery struct {
	Retry    bool          // if false, the run gives up
	Fallback string        // model of the next attempt, empty to keep the model
	Prompt   string        // prompt of the next attempt, empty to keep the prompt
	Backoff  time.Duration // wait before the retry
}
