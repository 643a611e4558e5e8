package events

import "encoding/json"

// ToolBeforeData is the payload of tool.before, a tool call with its verdict.
type ToolBeforeData struct {
	Tool string          `json:"tool"` // name of the tool in the protocol
	Args json.RawMessage `json:"args,omitempty"`
	// PatchedArgs are the arguments as changed by hooks, or empty.
	PatchedArgs json.RawMessage `json:"patched_args,omitempty"`
	Outcome
	Common
}

// ToolStatus is the result of a tool call.
type ToolStatus string

// The results of a tool call. Only ToolError is a failure of the call.
const (
	ToolSuccess     ToolStatus = "success"
	ToolError       ToolStatus = "error"
	ToolDenied      ToolStatus = "denied"      // the tool refused to run the call, see DeniedBy
	ToolInterrupted ToolStatus = "interrupted" // a person or the tool stopped the call
)

// DeniedBy tells who refused a call, other than Hooktrail's own hooks.
type DeniedBy string

// Possible values of [DeniedBy].
const (
	DeniedByUser        DeniedBy = "user"        // a person
	DeniedByPermissions DeniedBy = "permissions" // the permission rules of the tool
	DeniedBySandbox     DeniedBy = "sandbox"
	DeniedByHook        DeniedBy = "hook" // a hook that is not ours
)

// ToolResultData is the payload of tool.result, with a Result or an Error.
type ToolResultData struct {
	Tool       string          `json:"tool,omitempty"`
	Args       json.RawMessage `json:"args,omitempty"` // set if tool.before lacks them
	Status     ToolStatus      `json:"status"`
	DeniedBy   DeniedBy        `json:"denied_by,omitempty"` // set if Status is denied and the source is known
	Result     json.RawMessage `json:"result,omitempty"`
	Error      *Failure        `json:"error,omitempty"`
	ExitCode   *int            `json:"exit_code,omitempty"` // exit code of a command
	DurationMS int64           `json:"duration_ms,omitempty"`
	Suppress   bool            `json:"suppress_output,omitempty"`
	Outcome
	Common
}

// ToolResultStoreData is the payload of tool.result.store.
type ToolResultStoreData struct {
	Tool   string          `json:"tool"`
	Result json.RawMessage `json:"result,omitempty"`
	Outcome
	Common
}

// ApprovalData is the payload of approval, the answer to an approval request.
type ApprovalData struct {
	Tool     string          `json:"tool,omitempty"`
	Args     json.RawMessage `json:"args,omitempty"`
	Prompt   string          `json:"prompt,omitempty"`
	Options  []string        `json:"options,omitempty"`
	Selected string          `json:"selected,omitempty"`
	Outcome
	Common
}
