package wire_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/wire"
)

func TestParseReply_Claude(t *testing.T) {
	for _, test := range []struct {
		name, data string
		point      events.Kind // tool.before if empty
		want       hooks.Reply
	}{
		{name: "nothing", data: `{}`},
		{name: "nothing to say", data: `{"continue":true,"suppressOutput":true,"systemMessage":"hi"}`},
		{name: "deny", data: `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`, want: hooks.Reply{Verdict: hooks.Deny, Reason: "no"}},
		{name: "ask", data: `{"hookSpecificOutput":{"permissionDecision":"ask"}}`, want: hooks.Reply{Verdict: hooks.Ask}},
		{name: "defer", data: `{"hookSpecificOutput":{"permissionDecision":"defer"}}`, want: hooks.Reply{Verdict: hooks.Ask}},
		{name: "change", data: `{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"ls"}}}`, want: hooks.Reply{Verdict: hooks.Allow, Patch: `{"command":"ls"}`}},
		{name: "context", data: `{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"today"}}`, point: events.PromptSubmit, want: hooks.Reply{Context: "today"}},
		{name: "old block", data: `{"decision":"block","reason":"no"}`, want: hooks.Reply{Verdict: hooks.Deny, Reason: "no"}},
		{name: "old approve", data: `{"decision":"approve"}`, want: hooks.Reply{Verdict: hooks.Allow}},
		{name: "new before old", data: `{"decision":"approve","hookSpecificOutput":{"permissionDecision":"deny"}}`, want: hooks.Reply{Verdict: hooks.Deny}},
		{name: "stop", data: `{"continue":false,"stopReason":"enough","decision":"approve"}`, want: hooks.Reply{Verdict: hooks.Deny, Reason: "enough"}},
		{name: "permission", data: `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"no"}}}`, point: events.Approval, want: hooks.Reply{Verdict: hooks.Deny, Reason: "no"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := hooks.Document{Point: test.point}
			if d.Point == "" {
				d.Point = events.ToolBefore
			}
			got, err := wire.ParseReply([]byte(test.data), d)
			if err != nil || *got != test.want {
				t.Errorf("got %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
}

func TestParseReply_ClaudeUnsupported(t *testing.T) {
	for data, want := range map[string]error{
		`{"acton":"block"}`:  wire.ErrAction,
		`{"decision":5}`:     wire.ErrAction,
		`{"decision":"nix"}`: wire.ErrClaude,
		`{"hookSpecificOutput":{"permisionDecision":"deny"}}`:                    wire.ErrClaude,
		`{"hookSpecificOutput":{"permissionDecision":"DENY"}}`:                   wire.ErrClaude,
		`{"hookSpecificOutput":"deny"}`:                                          wire.ErrClaude,
		`{"hookSpecificOutput":{"updatedInput":{"prompt":"p"}},"continue":true}`: wire.ErrClaude,
	} {
		if got, err := wire.ParseReply([]byte(data), hooks.Document{Point: events.PromptSubmit}); !errors.Is(err, want) {
			t.Errorf("%s: got %+v, %v, want %v", data, got, err, want)
		}
	}
}

func TestAppendCommand(t *testing.T) {
	for _, test := range []struct {
		event string
		d     hooks.Document
		want  map[string]any
	}{
		{"PreToolUse", hooks.Document{Point: events.ToolBefore, Tool: "Bash", Args: `{"command":"ls"}`, Meta: hooks.Meta{Session: "s", ToolCall: "c"}}, map[string]any{
			"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "c", "session_id": "s", "tool": "Bash",
		}},
		{"PromptSubmit", hooks.Document{Point: events.PromptSubmit, Payload: `{"prompt":"hello"}`}, map[string]any{
			"hook_event_name": "UserPromptSubmit", "prompt": "hello", "event": "PromptSubmit",
		}},
		{"MemoryUpdate", hooks.Document{Point: events.MemoryUpdated}, map[string]any{"hook_event_name": "MemoryUpdate"}},
	} {
		data, err := wire.AppendCommand(nil, test.event, test.d)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		for name, want := range test.want {
			if got[name] != want {
				t.Errorf("%s: %s is %v, want %v", test.event, name, got[name], want)
			}
		}
		// A command can forward its input to a decision service.
		if d, err := wire.Parse(data); err != nil || d != test.d {
			t.Errorf("%s: parsed as %+v, %v, want %+v", test.event, d, err, test.d)
		}
	}
}
