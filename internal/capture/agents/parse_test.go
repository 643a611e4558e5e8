package agents_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

func parse(tb testing.TB, tool, event, payload string) agents.Payload {
	tb.Helper()
	return parseIn(tb, agents.Context{Tenant: "acme", Event: event, CallIDs: agents.NewCallIDs()}, tool, payload)
}

func parseIn(tb testing.TB, c agents.Context, tool, payload string) agents.Payload {
	tb.Helper()
	p, err := named(tb, tool).Parse([]byte(payload), c)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func TestNamed(t *testing.T) {
	if diff := cmp.Diff([]string{"claude-code", "codex", "copilot-cli", "gemini-cli", "opencode"}, agents.Names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := agents.Named("emacs"); err == nil || !strings.Contains(err.Error(), "claude-code, codex") {
		t.Errorf("got %v for an unknown tool", err)
	}
	if got := named(t, "codex").Name(); got != "codex" {
		t.Errorf("got %q", got)
	}
}

func TestDecided(t *testing.T) {
	p := parse(t, "claude-code", "", claudePre)
	if p.Cwd != "/w" || p.Document.Meta.TeamRoot != "/w" || p.Document.Meta.ToolCall != "t" || p.Document.Tool != "Bash" {
		t.Errorf("got cwd %q and %+v", p.Cwd, p.Document)
	}
	list := p.Decided(hooks.DocumentOutcome{
		Verdict: hooks.Allow, Reason: "fine", Context: "mind", Args: `{"command":"ls"}`,
		Executions: []hooks.Execution{{Hook: "hook-1", Success: true}},
	})
	if len(list) != 1 || list[0].ToolCall != "t" || list[0].Run != "s" || list[0].Tenant != "acme" {
		t.Fatalf("got %+v", list)
	}
	want := `{"tool":"Bash","args":{"command":"rm -rf build/x"},"patched_args":{"command":"ls"},` +
		`"verdict":"allow","reason":"fine","additional_context":"mind","executions":[{"hook":"hook-1","success":true,"duration_ms":0}],"raw":` + claudePre + `}`
	if diff := cmp.Diff(want, string(list[0].Data)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if strings.Contains(string(p.Events[0].Data), "verdict") {
		t.Errorf("the event to record without a decision has one: %s", p.Events[0].Data)
	}
}

// TestDecided_Points checks the data that a decision adds to events of other kinds.
func TestDecided_Points(t *testing.T) {
	tests := []struct{ name, tool, payload, value, want string }{
		{"Prompt", "claude-code", claudePrompt, `{"directives":["d"]}`, `"directives":["d"]`},
		{"Session", "claude-code", claudeStart, ``, `"verdict":"none"`},
		{"Subagent", "claude-code", claudeSub, ``, `"subagent":"a"`},
		{"Compaction", "claude-code", claudeCompact, `{"preserve":["x"]}`, `"preserve":["x"]`},
		{"Approval", "opencode", openCodeAsk, `{"selected":"once"}`, `"selected":"once"`},
		{"Suppressed", "claude-code", claudePost, `{"status":"success","result":{},"suppress_output":true}`, `"suppress_output":true`},
		{"Notification", "claude-code", claudeStop, ``, `"step_status":"completed"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := parse(t, tt.tool, "", tt.payload)
			list := p.Decided(hooks.DocumentOutcome{Verdict: hooks.None, Value: hooks.JSON(tt.value)})
			var all strings.Builder
			for _, e := range list {
				if err := e.Validate(); err != nil {
					t.Error(err)
				}
				all.Write(e.Data)
			}
			if !strings.Contains(all.String(), tt.want) {
				t.Errorf("got %s, want %s in it", all.String(), tt.want)
			}
		})
	}
}

// No event contains text that a hook removed from a result.
func TestDecided_ChangedResult(t *testing.T) {
	for tool, payload := range map[string]string{
		"claude-code": claudePost, "codex": codexPost, "gemini-cli": geminiPost, "opencode": openCodePost,
		"copilot-cli": `{"sessionId":"s","timestamp":1,"toolName":"bash","toolArgs":{},"toolResult":{"resultType":"success","textResultForLlm":"secret"}}`,
	} {
		p := parse(t, tool, "", payload)
		for text, o := range map[string]hooks.DocumentOutcome{"[gone]": changed, "withheld": withheld} {
			before, after := string(p.Events[0].Data), string(p.Decided(o)[0].Data)
			if !strings.Contains(before, "secret") || strings.Contains(after, "secret") || !strings.Contains(after, text) || !strings.Contains(after, `"raw":{`) {
				t.Errorf("%s: recorded as %s", tool, after)
			}
		}
	}
	p := parse(t, "claude-code", "", strings.Replace(claudeFailed, "Exit code 2", "secret", 1))
	o := hooks.DocumentOutcome{Verdict: hooks.None, Value: `{"status":"error","error":"[gone]"}`}
	if after := string(p.Decided(o)[0].Data); strings.Contains(after, "secret") || !strings.Contains(after, `"error":{"message":"[gone]"}`) {
		t.Errorf("a failure is recorded as %s", after)
	}
}

// A registry without an opinion changes neither the record nor the answer.
func TestDecided_Registry(t *testing.T) {
	for tool, payload := range map[string]string{
		"claude-code": claudePost, "codex": codexPost, "gemini-cli": geminiPost, "opencode": openCodePost,
	} {
		p := parse(t, tool, "", payload)
		out, err := hooks.NewRegistry(hooks.Options{}).DispatchDocument(t.Context(), p.Document)
		if err != nil {
			t.Fatal(err)
		}
		if reply := named(t, tool).Reply(p, out); len(reply.Stdout) > 0 {
			t.Errorf("%s: answered by %s", tool, reply.Stdout)
		}
		before := strings.Replace(string(p.Events[0].Data), `"raw":`, `"verdict":"none","raw":`, 1)
		if diff := cmp.Diff(before, string(p.Decided(out)[0].Data)); diff != "" {
			t.Errorf("%s (-before +after):\n%s", tool, diff)
		}
	}
	failed := parse(t, "claude-code", "", claudeFailed)
	out, err := hooks.NewRegistry(hooks.Options{}).DispatchDocument(t.Context(), failed.Document)
	if err != nil || !strings.Contains(string(failed.Decided(out)[0].Data), `"raw":`+claudeFailed) {
		t.Errorf("a failure is recorded as %s, %v", failed.Decided(out)[0].Data, err)
	}
}

// A denied call does not get the result of a later equal call.
func TestDecided_DeniedCallWaitsForNothing(t *testing.T) {
	for name, callIDs := range map[string]agents.CallIDs{"Memory": agents.NewCallIDs(), "Dir": agents.SharedCallIDs(t.TempDir())} {
		read := func(payload string) agents.Payload {
			return parseIn(t, agents.Context{Tenant: "acme", CallIDs: callIDs}, "gemini-cli", payload)
		}
		again := strings.Replace(geminiPre, "07:20:47", "07:20:50", 1)
		result := strings.Replace(strings.Replace(geminiPost, `{"command":"ls"}`, `{"command":"rm -rf build/x"}`, 1), "07:20:48", "07:20:51", 1)
		first := read(geminiPre).Decided(denied)[0]
		second := read(again).Decided(allowed)[0]
		got := read(result).Events[0]
		if got.ToolCall != second.ToolCall || got.ToolCall == first.ToolCall || got.ToolCall == "" {
			t.Errorf("%s: calls %s and %s, result of %s", name, first.ToolCall, second.ToolCall, got.ToolCall)
		}
	}
}

// An OpenCode tool that throws gives an error, unless the call was denied.
func TestParse_OpenCodeErrors(t *testing.T) {
	const part = `{"id":"evt_1","type":"message.part.updated","properties":{"part":{"sessionID":"s","type":"tool","callID":"t","tool":"read",` +
		`"state":{"status":"error","error":"File not found","time":{"start":1795245783215,"end":1795245783220}}}}}`
	e := parse(t, "opencode", "event.message.part.updated", part).Events[0]
	got, err := events.Payload[events.ToolResultData](e)
	if err != nil || e.ToolCall != "t" || got.Status != events.ToolError || got.Error.Message != "File not found" || got.DurationMS != 5 {
		t.Errorf("got %s of %q: %+v, %v", e.Type, e.ToolCall, got, err)
	}
	callIDs := agents.SharedCallIDs(t.TempDir())
	parseIn(t, agents.Context{CallIDs: callIDs}, "opencode", openCodePre).Decided(denied)
	after := parseIn(t, agents.Context{CallIDs: callIDs}, "opencode", part)
	if after.Events[0].Kind() != events.Custom || after.Decides {
		t.Errorf("a denied call: got %s", after.Events[0].Type)
	}
}

func TestParse_Times(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("x", 3600))
	tests := []struct{ name, tool, payload, want string }{
		{"None", "claude-code", claudePre, "2026-01-02T02:04:05Z"},
		{"Text", "gemini-cli", geminiPre, "2026-11-21T07:20:47Z"},
		{"Milliseconds", "copilot-cli", copilotPre, "2026-11-21T07:30:06.212Z"},
		{"WithoutZone", "claude-code", `{"session_id":"s","hook_event_name":"SessionEnd","logged_at":"2026-03-10T23:07:57.524567"}`, "2026-03-10T23:07:57.524567Z"},
		{"TooEarly", "copilot-cli", `{"sessionId":"s","timestamp":-1}`, "2026-01-02T02:04:05Z"},
		{"NoTime", "gemini-cli", `{"timestamp":"yesterday"}`, "2026-01-02T02:04:05Z"},
		{"NotEvenText", "gemini-cli", `{"timestamp":{}}`, "2026-01-02T02:04:05Z"},
	}
	for _, tt := range tests {
		p := parseIn(t, agents.Context{Now: now}, tt.tool, tt.payload)
		if got := p.Events[0].Time.Format(time.RFC3339Nano); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

// Only input that is not an object is refused, and nothing is lost.
//
//guarantee:payload-unknown
func TestParse_Junk(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 600)
	tests := []struct {
		name, payload string
		refused       bool
		kept          string // text that the data of the event must contain
	}{
		{"Empty", ``, true, `"bytes":0`},
		{"Array", `[1]`, true, `"text":"[1]"`},
		{"Half", `{"a":`, true, `"text":"{\"a\":"`},
		{"Null", `null`, true, `"text":"null"`},
		{"Bytes", "\xff\x00", true, `"base64":"/wA="`},
		{"EmptyObject", `{}`, false, `"raw":{}`},
		{"Deep", deep, false, `"bytes":3601`},
		{"NoUnicode", "{\"hook_event_name\":\"X\",\"a\":\"\xff\\ud800\"}", false, "\uFFFD"},
		{"LongIDs", `{"hook_event_name":"Stop","session_id":"` + strings.Repeat("x", 9000) + `"}`, false, `"raw":`},
		{"ControlCharacters", `{"hook_event_name":"Stop","session_id":"a\u0000b\n","agent_id":"\u0007"}`, false, `"raw":`},
		{"OtherTypes", `{"hook_event_name":7,"session_id":[],"tool_input":"x","duration_ms":"long","timestamp":1e300}`, false, `"raw":`},
		{"DeepArgs", `{"hook_event_name":"PreToolUse","tool_input":` + strings.Repeat(`[`, 509) + strings.Repeat(`]`, 509) + `}`, false, ``},
	}
	for _, name := range agents.Names() {
		for _, tt := range tests {
			tool := named(t, name)
			c := agents.Context{Tenant: "acme", Event: "E"}
			p, err := tool.Parse([]byte(tt.payload), c)
			if refused := err != nil; refused != tt.refused {
				t.Errorf("%s %s: got %v", name, tt.name, err)
			}
			if err != nil {
				if strings.Contains(err.Error(), "ud800") {
					t.Errorf("%s: the error has text of the payload: %v", tt.name, err)
				}
				p = tool.Unreadable([]byte(tt.payload), c)
			}
			var all strings.Builder
			for _, e := range p.Events {
				if err := e.Validate(); err != nil {
					t.Errorf("%s %s: %v", name, tt.name, err)
				}
				all.Write(e.Data)
			}
			if !strings.Contains(all.String(), tt.kept) {
				t.Errorf("%s %s: kept as %.200s", name, tt.name, all.String())
			}
		}
	}
}

// An unknown hook event becomes a custom event with its name.
func TestParse_UnknownEvent(t *testing.T) {
	for _, name := range agents.Names() {
		p := parse(t, name, "", `{"hook_event_name":"FutureThing","type":"FutureThing","session_id":"s","sessionId":"s","properties":{},"new":[1,{"a":null}]}`)
		data, err := events.Payload[events.CustomData](p.Events[0])
		if err != nil || data.Name != "FutureThing" || p.Decides || p.Document.Point != "" || !json.Valid(data.Raw) {
			t.Errorf("%s: got %+v, %v", name, data, err)
		}
	}
}

// Without CallIDs, equal calls share an id, and results still find it.
func TestParse_WithoutCallIDs(t *testing.T) {
	read := func(payload string) events.Event {
		return parseIn(t, agents.Context{}, "copilot-cli", payload).Events[0]
	}
	pre := read(copilotPre)
	post := read(`{"sessionId":"s","timestamp":1795246206999,"toolName":"bash","toolArgs":{"command":"rm -rf build/x"},"toolResult":{"resultType":"success"}}`)
	if pre.ToolCall == "" || pre.ToolCall != post.ToolCall {
		t.Errorf("call %q, result of %q", pre.ToolCall, post.ToolCall)
	}
}

// Both shapes of a Copilot CLI payload give the same event.
func TestParse_BothStyles(t *testing.T) {
	camel, snake := parse(t, "copilot-cli", "preToolUse", copilotPre).Events[0], parse(t, "copilot-cli", "", copilotSnakePre).Events[0]
	ignore := cmpopts.IgnoreFields(events.Event{}, "Data")
	if diff := cmp.Diff(camel, snake, ignore); diff != "" {
		t.Errorf("(-camelCase +snake_case):\n%s", diff)
	}
	text := strings.Replace(copilotPre, `{"command":"rm -rf build/x"}`, `"{\"command\":\"rm -rf build/x\"}"`, 1)
	if got := parse(t, "copilot-cli", "", text).Events[0]; got.ID != camel.ID {
		t.Errorf("arguments as text make another event")
	}
}

// Hooks judge a call whose arguments are nested too deep to be stored.
//
//guarantee:payload-unknown
func TestParse_DeepArgs(t *testing.T) {
	deep := `"x":` + strings.Repeat(`[`, 600) + strings.Repeat(`]`, 600)
	payload := strings.Replace(claudePre, `"command"`, deep+`,"command"`, 1)
	p := parse(t, "claude-code", "", payload)
	if command, _ := p.Document.Args.Text("command"); command != "rm -rf build/x" || !p.Decides || !p.Document.Args.Valid() {
		t.Errorf("command %q, decides %v", command, p.Decides)
	}
	list := p.Decided(denied)
	if len(list) != 2 || verdictOf(t, list) != hooks.Deny || list[1].Kind() != events.Custom || !strings.Contains(string(list[1].Data), "[[[[") {
		t.Errorf("recorded as %d events", len(list))
	}
}
