package agents_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// fuzzParse fuzzes Parse of a tool. Any JSON object gives JSON answers and valid
// events, one of which contains the payload.
func fuzzParse(f *testing.F, name string, seeds ...string) {
	f.Helper()
	for _, seed := range seeds {
		f.Add([]byte(seed), "")
	}
	f.Add([]byte(`{"hook_event_name":"PreToolUse","tool_input":[[[{"a":"\ud800"}]]],"timestamp":1e19}`), "preToolUse")
	f.Add([]byte(`{"`), "event.session.created")
	tool := named(f, name)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f.Fuzz(func(t *testing.T, payload []byte, event string) {
		c := agents.Context{Tenant: "acme", Now: now, Event: event, CallIDs: agents.NewCallIDs()}
		p, err := tool.Parse(payload, c)
		var object map[string]json.RawMessage
		if isObject := json.Unmarshal(payload, &object) == nil && object != nil; isObject != (err == nil) {
			t.Fatalf("object: %v, but %v", isObject, err)
		}
		if err != nil {
			p = tool.Unreadable(payload, c)
		}
		checkPayload(t, p)
		again, _ := tool.Parse(payload, agents.Context{Tenant: "acme", Now: now.Add(time.Hour), Event: event, CallIDs: c.CallIDs})
		for i := range again.Events {
			if again.Events[i].ToolCall != p.Events[i].ToolCall && again.Events[i].ID == p.Events[i].ID {
				t.Error("one event is of two calls")
			}
		}
		for _, v := range []hooks.Verdict{hooks.None, hooks.Allow, hooks.Ask, hooks.Deny} {
			o := hooks.DocumentOutcome{Verdict: v, Reason: "why", Context: "mind", Args: `{"command":"ls"}`, Value: `{"status":"success","result":"x"}`}
			reply := tool.Reply(p, o)
			if len(reply.Stdout) > 0 && !json.Valid(reply.Stdout) || reply.Exit != 0 {
				t.Errorf("%s is answered by %q", v, reply.Stdout)
			}
			for _, e := range p.Decided(o) {
				if err := e.Validate(); err != nil {
					t.Errorf("%s: %v", v, err)
				}
			}
		}
	})
}

func checkPayload(t *testing.T, p agents.Payload) {
	t.Helper()
	if len(p.Events) == 0 {
		t.Fatal("no event")
	}
	ids := map[string]bool{}
	var kept int
	for _, e := range p.Events {
		if err := e.Validate(); err != nil {
			t.Errorf("%s: %v", e.Type, err)
		}
		if e.Tenant != "acme" || ids[e.ID] {
			t.Errorf("tenant %q, id twice: %v", e.Tenant, ids[e.ID])
		}
		ids[e.ID] = true
		if s := string(e.Data); strings.Contains(s, `"raw":`) || strings.Contains(s, `"bytes":`) {
			kept++
		}
	}
	if kept == 0 {
		t.Error("the payload is not kept")
	}
	if _, err := hooks.NewRegistry(hooks.Options{}).DispatchDocument(t.Context(), p.Document); p.Decides && err != nil {
		t.Errorf("cannot be decided: %v", err)
	}
}

func FuzzParse_ClaudeCode(f *testing.F) {
	fuzzParse(f, "claude-code", claudePre, claudePost, claudeFailed, claudePrompt, claudeStart, claudeAsk, claudeCompact, claudeSub, claudeStop)
}

func FuzzParse_Codex(f *testing.F) {
	fuzzParse(f, "codex", codexPre, codexPost, claudePrompt, claudeStart, `{"type":"agent-turn-complete","thread-id":"s","turn-id":"u"}`)
}

func FuzzParse_GeminiCLI(f *testing.F) {
	fuzzParse(f, "gemini-cli", geminiPre, geminiPost, geminiPrompt,
		`{"hook_event_name":"AfterModel","timestamp":"2026-11-21T07:20:48Z","llm_response":{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1e300}}}`)
}

func FuzzParse_CopilotCLI(f *testing.F) {
	fuzzParse(f, "copilot-cli", copilotPre, copilotSnakePre, copilotAsk, copilotPrompt,
		`{"sessionId":"s","timestamp":1,"agentId":"a","parentAgentId":"s","agentName":"x","stopReason":"end_turn"}`)
}

func FuzzParse_OpenCode(f *testing.F) {
	fuzzParse(f, "opencode", openCodePre, openCodePost, openCodeAsk,
		`{"id":"e","type":"session.created","properties":{"info":{"id":"c","parentID":"p"}}}`,
		`{"id":"e","type":"message.part.updated","properties":{"part":{"type":"tool","callID":"t","state":{"status":"error"}}}}`)
}

// The events of a log are valid and have unique, stable ids.
func FuzzLog(f *testing.F) {
	f.Add([]byte("[" + claudePre + "," + claudeStop + "," + claudeStop + "]"))
	f.Add([]byte(copilotPre + "\n" + geminiPost + "\n" + openCodePre))
	f.Add([]byte(`[{"a":1},2,"x",[]] {"hook_event_name":"X"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func() (ids []string) {
			for e, err := range agents.Log(t.Context(), bytes.NewReader(data), ingest.Options{File: "f", Tenant: "acme"}) {
				if err != nil {
					continue
				}
				if err := e.Validate(); err != nil {
					t.Errorf("%s: %v", e.Type, err)
				}
				ids = append(ids, e.ID)
			}
			return ids
		}
		first := strings.Join(read(), " ")
		if again := strings.Join(read(), " "); first != again {
			t.Errorf("ids are %q and then %q", first, again)
		}
	})
}

func FuzzCopilotEvents(f *testing.F) {
	for _, typ := range []string{"session.start", "user.message", "tool.execution_start", "tool.execution_complete", "subagent.started", "session.shutdown"} {
		f.Add([]byte(`{"type":"` + typ + `","data":{"toolCallId":"c","sessionId":"s","toolName":"bash"},"agentId":"a","id":"e","timestamp":"2026-11-21T07:30:06Z","parentId":null}`))
	}
	f.Fuzz(func(t *testing.T, data []byte) { ingesttest.Stable(t, agents.CopilotEvents, data) })
}

func BenchmarkParse(b *testing.B) {
	tool, c := named(b, "claude-code"), agents.Context{Tenant: "acme", Now: time.Now()}
	b.ReportAllocs()
	for b.Loop() {
		p, err := tool.Parse([]byte(claudePre), c)
		if err != nil {
			b.Fatal(err)
		}
		tool.Reply(p, denied)
		p.Decided(denied)
	}
}
