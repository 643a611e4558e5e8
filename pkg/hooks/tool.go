package hooks

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

var toolBeforeRules = decisionRules[ToolCall, ToolPatch]{
	call: func(c ToolCall) ToolCall { return c },
	apply: func(c *ToolCall, sum *ToolPatch, p ToolPatch) (bool, error) {
		if p.Args == "" {
			return false, nil
		}
		if !p.Args.Valid() {
			return false, ErrBadOutput
		}
		modified := p.Args != c.Args
		c.Args, sum.Args = p.Args, p.Args
		return modified, nil
	},
	payload: func(asked ToolCall, out *Outcome[ToolCall, ToolPatch]) any {
		return events.ToolBeforeData{
			Tool: asked.Tool, Args: rawOf(asked.Args), PatchedArgs: rawOf(out.Patch.Args), Outcome: outcomeOf(out),
		}
	},
	read: func(d Document) (ToolCall, error) { return callOf(d), nil },
	write: func(c ToolCall, d *Document) error {
		d.Tool, d.Args = c.Tool, c.Args
		return nil
	},
	patch: func(reply JSON) (ToolPatch, error) { return ToolPatch{Args: reply}, nil },
	show: func(out *Outcome[ToolCall, ToolPatch], to *DocumentOutcome) error {
		to.Args = out.Input.Args
		return nil
	},
}

var approvalRules = decisionRules[ApprovalRequest, ApprovalPatch]{
	call: func(r ApprovalRequest) ToolCall { return r.Call },
	apply: func(r *ApprovalRequest, sum *ApprovalPatch, p ApprovalPatch) (bool, error) {
		if p.Selected == "" {
			return false, nil
		}
		if len(r.Options) > 0 && !slices.Contains(r.Options, p.Selected) {
			return false, ErrBadOutput
		}
		sum.Selected = p.Selected
		return true, nil
	},
	payload: func(asked ApprovalRequest, out *Outcome[ApprovalRequest, ApprovalPatch]) any {
		return events.ApprovalData{
			Tool: asked.Call.Tool, Args: rawOf(asked.Call.Args), Prompt: asked.Prompt, Options: asked.Options,
			Selected: out.Patch.Selected, Outcome: outcomeOf(out),
		}
	},
	read: func(d Document) (ApprovalRequest, error) {
		question, err := payloadAs[approvalQuestion](d)
		return ApprovalRequest{Call: callOf(d), Prompt: question.Prompt, Options: question.Options}, err
	},
	write: func(r ApprovalRequest, d *Document) (err error) {
		d.Tool, d.Args = r.Call.Tool, r.Call.Args
		d.Payload, err = Marshal(approvalQuestion{r.Prompt, r.Options})
		return err
	},
}

type approvalQuestion struct {
	Prompt  string   `json:"prompt,omitempty"`
	Options []string `json:"options,omitempty"`
}

var toolStatuses = []events.ToolStatus{events.ToolSuccess, events.ToolError, events.ToolDenied, events.ToolInterrupted}

var toolResultRules = transformRules[ToolDone, ToolOutcome]{
	call: func(d ToolDone) ToolCall { return d.Call },
	ending: func(o ToolOutcome) ending {
		return endingOf(o.Status == events.ToolSuccess, o.Status == events.ToolError)
	},
	check: func(o ToolOutcome) error {
		if !slices.Contains(toolStatuses, o.Status) || o.Result != "" && !o.Result.Valid() || o.DeniedBy != "" && o.Status != events.ToolDenied {
			return ErrBadOutput
		}
		return nil
	},
	same: func(a, b ToolOutcome) bool {
		exits := a.ExitCode == b.ExitCode || a.ExitCode != nil && b.ExitCode != nil && *a.ExitCode == *b.ExitCode
		a.ExitCode, b.ExitCode = nil, nil
		return exits && a == b
	},
	instead: func(ToolOutcome) ToolOutcome {
		return ToolOutcome{Status: events.ToolError, Error: "result withheld: a hook that checks it has failed"}
	},
	payload: func(d ToolDone, _ ToolOutcome, out *Transformed[ToolOutcome]) any {
		o := out.Value
		data := events.ToolResultData{
			Tool: d.Call.Tool, Status: o.Status, DeniedBy: o.DeniedBy, Result: rawOf(o.Result), ExitCode: o.ExitCode,
			DurationMS: d.Duration.Milliseconds(), Suppress: o.Suppress, Outcome: transformedOf(out),
		}
		data.Context = o.Context
		if o.Status != events.ToolSuccess {
			data.Error = &events.Failure{Message: o.Error}
		}
		return data
	},
	read:  readToolResult,
	write: writeToolResult,
	reply: replyToolResult,
	show:  showToolResult,
}

// RedactionFailed is stored instead of a result if a hook fails to redact the result.
const RedactionFailed JSON = `{"redaction_failed":true}`

var toolResultStoreRules = transformRules[ToolCall, JSON]{
	call:     func(c ToolCall) ToolCall { return c },
	check:    checkJSON,
	same:     sameJSON,
	instead:  func(JSON) JSON { return RedactionFailed },
	proceeds: true,
	payload: func(c ToolCall, _ JSON, out *Transformed[JSON]) any {
		return events.ToolResultStoreData{Tool: c.Tool, Result: rawOf(out.Value), Outcome: transformedOf(out)}
	},
	read: func(d Document) (ToolCall, JSON, error) { return callOf(d), d.Result, nil },
	write: func(c ToolCall, v JSON, d *Document) error {
		d.Tool, d.Args, d.Result = c.Tool, c.Args, v
		return nil
	},
	reply: replyJSON,
	show:  showJSON,
}

func checkJSON(v JSON) error {
	if !v.Valid() {
		return ErrBadOutput
	}
	return nil
}

func checkObject(v JSON) error {
	var m map[string]json.RawMessage
	if v.Decode(&m) != nil || m == nil {
		return ErrBadOutput
	}
	return nil
}

func outcomeOf[In, P any](out *Outcome[In, P]) events.Outcome {
	return events.Outcome{Verdict: out.Verdict, Reason: out.Reason, Context: out.Context, Executions: out.Executions}
}

func transformedOf[V any](out *Transformed[V]) events.Outcome {
	o := events.Outcome{Executions: out.Executions}
	if out.Prevented {
		o.Verdict, o.Reason = Deny, out.because
	}
	return o
}

// ToolCall is the input of [ToolBefore].
type ToolCall struct {
	ID   string // id of the call, the same in its result
	Tool string // name of the tool as the agent wrote it
	Args JSON
}

// ToolPatch changes a tool call.
type ToolPatch struct {
	Args JSON `json:"args,omitempty"` // replaces all arguments, empty to keep them
}

// ToolDone is the subject of [ToolResult]: the call that has ended.
type ToolDone struct {
	Call     ToolCall
	Duration time.Duration
}

// ToolOutcome is the value of [ToolResult]: how the call has ended.
type ToolOutcome struct {
	Status   events.ToolStatus `json:"status"`
	DeniedBy events.DeniedBy   `json:"denied_by,omitempty"` // who refused the call, if that is known
	Result   JSON              `json:"result,omitempty"`    // after a success
	Error    string            `json:"error,omitempty"`     // after a failure
	Stack    string            `json:"stack,omitempty"`
	Context  string            `json:"additional_context,omitempty"` // for the agent
	ExitCode *int              `json:"exit_code,omitempty"`          // exit code of a command
	Suppress bool              `json:"suppress_output,omitempty"`    // hide the result
}

// ApprovalRequest is the input of [Approval], after a hook returned Ask for Call.
type ApprovalRequest struct {
	Call    ToolCall
	Prompt  string   // question for the user
	Options []string // possible answers
}

// ApprovalPatch selects one of the options of an approval request.
type ApprovalPatch struct {
	Selected string `json:"selected,omitempty"`
}
