package wire

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// ErrClaude means that a reply in the format of Claude Code's hooks has a value that Hooktrail does
// not know, or asks for a change that is not possible at the point.
const ErrClaude = hooks.Fault("answer in Claude Code's format has a member or value that Hooktrail does not support here")

// claudeInput contains the names under which hooks of Claude Code look for their input. The format
// is the one of https://code.claude.com/docs/en/hooks.
type claudeInput struct {
	Event    string          `json:"hook_event_name"`
	Tool     string          `json:"tool_name,omitempty"`
	Input    json.RawMessage `json:"tool_input,omitempty"`
	Response json.RawMessage `json:"tool_response,omitempty"`
	Call     string          `json:"tool_use_id,omitempty"`
}

// claudeEvents contains the points that have another name in Claude Code than in hook files.
var claudeEvents = map[events.Kind]string{
	events.ToolBefore:    "PreToolUse",
	events.ToolResult:    "PostToolUse",
	events.Approval:      "PermissionRequest",
	events.PromptSubmit:  "UserPromptSubmit",
	events.SessionStart:  "SessionStart",
	events.SessionEnded:  "SessionEnd",
	events.SubagentStart: "SubagentStart",
	events.CompactBefore: "PreCompact",
}

// AppendCommand is like [Append], but adds the names that hooks of Claude Code read, such as
// tool_name and tool_input, so that these hooks work unchanged.
func AppendCommand(dst []byte, event string, d hooks.Document) ([]byte, error) {
	var payload struct {
		Prompt string `json:"prompt"`
	}
	if d.Point == events.PromptSubmit {
		json.Unmarshal([]byte(d.Payload), &payload) //nolint:errcheck // then there is no prompt
	}
	return encode(dst, struct {
		document
		claudeInput

		Prompt string `json:"prompt,omitempty"`
	}{
		document: newDocument(event, d),
		claudeInput: claudeInput{
			Event: cmp.Or(claudeEvents[d.Point], event), Tool: d.Tool, Call: d.Meta.ToolCall,
			Input: d.Args.Raw(), Response: d.Result.Raw(),
		},
		Prompt: payload.Prompt,
	})
}

// claudeReply is the reply of a hook that was written for Claude Code.
type claudeReply struct {
	Continue   *bool           `json:"continue"`
	StopReason string          `json:"stopReason"`
	Decision   string          `json:"decision"`
	Reason     string          `json:"reason"`
	Specific   json.RawMessage `json:"hookSpecificOutput"`

	// These members only concern what Claude Code shows to its user.
	SystemMessage  string `json:"systemMessage"`
	SuppressOutput bool   `json:"suppressOutput"`
}

// claudeSpecific lists all supported members of hookSpecificOutput. Others are errors, because an
// ignored member could be the one that denies.
type claudeSpecific struct {
	Event      string          `json:"hookEventName"`
	Permission string          `json:"permissionDecision"`
	Reason     string          `json:"permissionDecisionReason"`
	Input      json.RawMessage `json:"updatedInput"`
	Context    string          `json:"additionalContext"`
	Decision   struct {
		Behavior  string          `json:"behavior"`
		Message   string          `json:"message"`
		Input     json.RawMessage `json:"updatedInput"`
		Interrupt bool            `json:"interrupt"`
	} `json:"decision"`
}

// claudeVerdicts has Ask for defer, because Hooktrail cannot postpone a call.
var claudeVerdicts = map[string]hooks.Verdict{
	"": "", "allow": hooks.Allow, "approve": hooks.Allow, "ask": hooks.Ask, "defer": hooks.Ask,
	"deny": hooks.Deny, "block": hooks.Deny,
}

func parseClaude(data []byte, d hooks.Document) (*hooks.Reply, error) {
	var r claudeReply
	if decodeStrict(data, &r) != nil {
		return nil, ErrAction
	}
	var s claudeSpecific
	if len(r.Specific) > 0 && decodeStrict(r.Specific, &s) != nil {
		return nil, ErrClaude
	}
	said := cmp.Or(s.Permission, s.Decision.Behavior, r.Decision)
	verdict, known := claudeVerdicts[said]
	if !known {
		return nil, ErrClaude
	}
	out := &hooks.Reply{
		Verdict: verdict, Context: s.Context,
		Reason: cmp.Or(s.Reason, s.Decision.Message, r.Reason),
		Patch:  cmp.Or(present(s.Input), present(s.Decision.Input)),
	}
	if r.Continue != nil && !*r.Continue {
		out.Verdict, out.Reason = hooks.Deny, cmp.Or(r.StopReason, out.Reason)
	}
	if out.Patch != "" && d.Point != events.ToolBefore {
		return nil, ErrClaude
	}
	return out, nil
}

func decodeStrict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}
