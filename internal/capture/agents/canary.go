package agents

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

const (
	// CanaryTool is the tool name in a canary, which is a made-up tool call that tests an
	// installation.
	CanaryTool = "hooktrail_canary"
	// CanaryReason begins the reason for denying a canary. A denial with this reason proves that
	// the event was recorded, because the hook command answers only after that.
	CanaryReason = "Hooktrail denied its canary call"
)

// IsCanary reports whether a document asks about a call of CanaryTool.
func IsCanary(d hooks.Document) bool {
	return d.Point == events.ToolBefore && d.Tool == CanaryTool
}

// CanaryOutcome denies a canary, which is a made-up tool call that tests an installation. The
// parameter by names the program that denies the call.
func CanaryOutcome(by string) hooks.DocumentOutcome {
	return hooks.DocumentOutcome{
		Point: events.ToolBefore, Verdict: hooks.Deny, Reason: CanaryReason + " (" + by + ").", Executions: []hooks.Execution{},
	}
}

// Canary contains the hook payloads of a made-up session with a single call of CanaryTool.
type Canary struct {
	CallEvent, EndEvent string // names of the hook events
	Call, End           []byte // payloads
}

// Canary returns the hook payloads of a made-up session in the folder cwd. Different ids give
// different sessions.
func (t *Tool) Canary(id, cwd string, now time.Time) Canary {
	session := "hooktrail-canary-" + id
	args := map[string]string{"canary": id}
	switch t {
	case copilotCLI:
		at := now.UnixMilli()
		return Canary{
			"preToolUse", "sessionEnd",
			canaryJSON("sessionId", session, "timestamp", at, "cwd", cwd, "toolName", CanaryTool, "toolArgs", args),
			canaryJSON("sessionId", session, "timestamp", at, "cwd", cwd, "reason", "complete"),
		}
	case openCode:
		return Canary{
			"tool.execute.before", "session.deleted",
			canaryJSON("input", map[string]any{"sessionID": session, "callID": id, "cwd": cwd, "tool": CanaryTool}, "output", map[string]any{"args": args}),
			canaryJSON("id", id, "type", "session.deleted", "properties", map[string]any{"info": map[string]string{"id": session}}),
		}
	}
	before := "PreToolUse"
	if t == geminiCLI {
		before = "BeforeTool"
	}
	at := now.UTC().Format(time.RFC3339Nano)
	return Canary{
		before, "SessionEnd",
		canaryJSON("session_id", session, "timestamp", at, "cwd", cwd, "hook_event_name", before, "tool_name", CanaryTool, "tool_input", args, "tool_use_id", id),
		canaryJSON("session_id", session, "timestamp", at, "cwd", cwd, "hook_event_name", "SessionEnd", "reason", "other"),
	}
}

func canaryJSON(pairs ...any) []byte {
	members := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if name, ok := pairs[i].(string); ok {
			members[name] = pairs[i+1]
		}
	}
	data, err := json.Marshal(members)
	if err != nil {
		return nil // unreachable: every value can be encoded
	}
	return data
}

// ReadDenial reads the output of a hook command. It returns the reason for a denial, or false if
// the output does not deny a call.
func ReadDenial(stdout []byte) (reason string, denied bool) {
	type decision struct {
		Decision string `json:"permissionDecision"`
		Reason   string `json:"permissionDecisionReason"`
	}
	var answer struct {
		decision
		Special decision `json:"hookSpecificOutput"`
		Block   string   `json:"decision"`
		Why     string   `json:"reason"`
		Deny    *string  `json:"deny"`
	}
	if json.Unmarshal(stdout, &answer) != nil {
		return "", false
	}
	const deny = string(hooks.Deny)
	switch {
	case answer.Decision == deny:
		return answer.Reason, true
	case answer.Special.Decision == deny:
		return answer.Special.Reason, true
	case answer.Block == deny:
		return answer.Why, true
	case answer.Deny != nil:
		return *answer.Deny, true
	}
	return strings.TrimSpace(answer.Why), false
}
