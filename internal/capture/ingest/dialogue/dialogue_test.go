package dialogue_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/dialogue"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// samples has a session of each format, with the shapes that the agents write.
var samples = map[string][]string{
	dialogue.Qwen: {
		`{"uuid":"s0","parentUuid":null,"sessionId":"q1","timestamp":"2026-10-01T10:00:00.000Z","type":"system","subtype":"session_model","cwd":"/w","version":"0.24.7","gitBranch":"main","systemPayload":{"modelId":"m"}}`,
		`{"uuid":"u1","parentUuid":"s0","sessionId":"q1","timestamp":"2026-10-01T10:00:01.000Z","type":"user","provenance":"real_user","message":{"role":"user","parts":[{"text":"run the tests"}]}}`,
		`{"uuid":"a1","parentUuid":"u1","sessionId":"q1","timestamp":"2026-10-01T10:00:02.000Z","type":"assistant","model":"qwen3-coder-plus","message":{"role":"model","parts":[{"text":"Plan.","thought":true},{"text":"I run them."},{"functionCall":{"id":"c1","name":"run_shell_command","args":{"command":"make test"}}},{"functionCall":{"id":"c2","name":"write_file","args":{}}},{"functionCall":{"id":"c3","name":"edit","args":{}}},{"functionCall":{"id":"c4","name":"read_file","args":{}}},{"functionCall":{"id":"c5","name":"read_file","args":{}}}]},"usageMetadata":{"promptTokenCount":500,"candidatesTokenCount":30,"cachedContentTokenCount":200,"thoughtsTokenCount":7,"totalTokenCount":537}}`,
		`{"uuid":"t1","sessionId":"q1","timestamp":"2026-10-01T10:00:03.000Z","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"run_shell_command","response":{"error":"Command: make test\nOutput: FAIL\nError: (none)\nExit Code: 2\nSignal: (none)\nProcess Group PGID: 4242"}}}]},"toolCallResult":{"callId":"c1","status":"error"}}`,
		`{"uuid":"t2","sessionId":"q1","timestamp":"2026-10-01T10:00:04.000Z","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"c2","name":"write_file","response":{"error":"Qwen Code requires permission to use \"write_file\", but that permission was declined."}}}]},"toolCallResult":{"callId":"c2","status":"error","errorType":"execution_denied"}}`,
		`{"uuid":"t3","sessionId":"q1","timestamp":"2026-10-01T10:00:05.000Z","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"c3","name":"edit","response":{"error":"[Operation Cancelled] Reason: User did not allow tool call"}}}]},"toolCallResult":{"callId":"c3","status":"cancelled"}}`,
		`{"uuid":"t4","sessionId":"q1","timestamp":"2026-10-01T10:00:06.000Z","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"c4","name":"read_file","response":{"output":"text"}}}]},"toolCallResult":{"callId":"c4","status":"success"}}`,
		`{"uuid":"t5","sessionId":"q1","timestamp":"2026-10-01T10:00:06.500Z","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"c5","name":"read_file","response":{"error":"[Operation Cancelled] Reason: User cancelled tool execution."}}}]},"toolCallResult":{"callId":"c5","status":"cancelled"}}`,
		`{"uuid":"a2","sessionId":"q1","timestamp":"2026-10-01T10:00:07.000Z","type":"assistant","model":"qwen3-coder-plus","message":{"role":"model","parts":[{"text":"Two fail."}]},"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":15,"thoughtsTokenCount":5,"totalTokenCount":115}}`,
		`{"uuid":"b1","sessionId":"q1","agentId":"explore-7f","isSidechain":true,"timestamp":"2026-10-01T10:00:08.000Z","type":"user","message":{"role":"user","parts":[{"text":"explore"}]}}`,
		`{"uuid":"k1","sessionId":"q1","timestamp":"2026-10-01T10:00:09.000Z","type":"system","subtype":"chat_compression","systemPayload":{"info":{}}}`,
	},
	dialogue.IFlow: {
		`{"uuid":"u1","parentUuid":null,"sessionId":"session-1","timestamp":"2026-02-27T09:11:31.532Z","type":"user","isSidechain":false,"userType":"external","message":{"role":"user","content":"look"},"cwd":"/w","gitBranch":null,"version":"1.0.0"}`,
		`{"uuid":"a1","parentUuid":"u1","sessionId":"session-1","timestamp":"2026-02-27T09:11:40.657Z","type":"assistant","isSidechain":false,"message":{"id":"m1","type":"message","role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"c1","name":"list_directory","input":{"path":"/w"}},{"type":"tool_use","id":"c2","name":"run_shell_command","input":{"command":"false"}}],"model":"glm-5","stop_reason":null,"usage":{"input_tokens":0,"output_tokens":0}}}`,
		`{"uuid":"r1","parentUuid":"a1","sessionId":"session-1","timestamp":"2026-02-27T09:11:41.000Z","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":{"callId":"c1","responseParts":{"functionResponse":{"id":"c1","name":"list_directory","response":{"output":"a\nb"}}},"resultDisplay":"Listed 2 item(s)."}}]},"toolUseResult":{"status":"success","timestamp":1772183500685,"toolName":"list_directory"}}`,
		`{"uuid":"r2","parentUuid":"r1","sessionId":"session-1","timestamp":"2026-02-27T09:11:42.000Z","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":{"functionResponse":{"id":"c2","name":"run_shell_command","response":{"output":"Output: (empty)\nExit Code: 1\nSignal: (none)"}}}}]},"toolUseResult":{"status":"success","toolName":"run_shell_command"}}`,
		`{"uuid":"a2","parentUuid":"r2","sessionId":"session-1","timestamp":"2026-02-27T09:11:50.657Z","type":"assistant","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"Two files."}],"model":"glm-5","usage":{"input_tokens":16472,"output_tokens":224}}}`,
		`{"uuid":"m1","parentUuid":"a2","sessionId":"session-1","timestamp":"2026-02-27T09:11:51.000Z","type":"user","isMeta":true,"message":{"role":"user","content":"caveat"}}`,
	},
	dialogue.Droid: {
		`{"type":"session_start","id":"d1","title":"Test","owner":"u","version":2,"cwd":"/w"}`,
		`{"type":"message","id":"m1","timestamp":"2025-12-26T23:50:00.000Z","message":{"role":"user","content":[{"type":"text","text":"<system-reminder>env</system-reminder>"},{"type":"text","text":"Run a command"}]}}`,
		`{"type":"message","id":"m2","timestamp":"2025-12-26T23:50:01.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"tool_use","id":"t1","name":"Execute","input":{"command":"ls /nope"}}]}}`,
		`{"type":"message","id":"m3","timestamp":"2025-12-26T23:50:02.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"Error: Command failed (exit code: 1)\nls: /nope: No such file or directory"}]}}`,
		`{"type":"todo_state","todos":"1. [pending] x"}`,
		`{"type":"message","id":"m4","timestamp":"2025-12-26T23:50:05.000Z","message":{"role":"assistant","content":"It is not there."}}`,
	},
	dialogue.Pi: {
		`{"type":"session","version":3,"id":"p1","timestamp":"2026-01-01T10:00:00Z","cwd":"/w"}`,
		`{"type":"model_change","id":"x","timestamp":"2026-01-01T10:00:00Z","provider":"anthropic","modelId":"m"}`,
		`{"type":"message","id":"1","parentId":"x","timestamp":"2026-01-01T10:00:01Z","message":{"role":"user","content":[{"type":"text","text":"fix it"}]}}`,
		`{"type":"message","id":"2","timestamp":"2026-01-01T10:00:02Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"…"},{"type":"text","text":"I look."},{"type":"toolCall","id":"t1","name":"bash","arguments":{"command":"make"}},{"type":"toolCall","id":"t2","name":"read","arguments":{}}],"model":"claude-x","usage":{"input":10,"output":5,"cacheRead":3,"cacheWrite":2,"cost":{"total":0.25}},"stopReason":"toolUse"}}`,
		`{"type":"message","id":"3","timestamp":"2026-01-01T10:00:03Z","message":{"role":"toolResult","toolCallId":"t1","toolName":"bash","content":[{"type":"text","text":"no rule\n\nCommand exited with code 2"}],"isError":true}}`,
		`{"type":"message","id":"4","timestamp":"2026-01-01T10:00:04Z","message":{"role":"toolResult","toolCallId":"t2","toolName":"read","content":[{"type":"text","text":"package x"}],"isError":false}}`,
		`{"type":"message","id":"5","timestamp":"2026-01-01T10:00:05Z","message":{"role":"bashExecution","command":"ls","output":"a","exitCode":0,"cancelled":false}}`,
		`{"type":"message","id":"6","timestamp":"2026-01-01T10:00:06Z","message":{"role":"assistant","content":[],"model":"claude-x","stopReason":"aborted"}}`,
		`{"type":"compaction","id":"7","timestamp":"2026-01-01T10:00:07Z","summary":"s","tokensBefore":9}`,
	},
	dialogue.Kiro: {
		`{"version":"v1","kind":"Prompt","data":{"message_id":"u1","content":[{"kind":"text","data":"list"}],"meta":{"timestamp":1786912345}}}`,
		`{"version":"v1","kind":"AssistantMessage","data":{"message_id":"a1","content":[{"kind":"text","data":"I list."},{"kind":"toolUse","data":{"toolUseId":"t1","name":"shell","input":{"command":"false"}}},{"kind":"toolUse","data":{"toolUseId":"t2","name":"read","input":{}}}]}}`,
		`{"version":"v1","kind":"ToolResults","data":{"message_id":"r1","content":[{"kind":"toolResult","data":{"toolUseId":"t1","status":"success","content":[{"kind":"json","data":{"exit_status":"exit status: 1","stdout":"","stderr":"no"}}]}},{"kind":"toolResult","data":{"toolUseId":"t2","status":"error","content":[{"kind":"text","data":"no such file"}]}}]}}`,
		`{"version":"v1","kind":"AssistantMessage","data":{"message_id":"a2","content":[{"kind":"text","data":"Done."}]}}`,
		`{"version":"v1","kind":"Checkpoint","data":{}}`,
	},
	dialogue.Cursor: {
		`{"role":"user","message":{"content":[{"type":"text","text":"<user_query>\nlist\n</user_query>"}]}}`,
		`{"role":"assistant","message":{"content":[{"type":"text","text":"I list."},{"type":"tool_use","name":"Shell","input":{"command":"ls"}}]}}`,
		`{"role":"assistant","message":{"content":[{"type":"text","text":"Done."}]}}`,
	},
	dialogue.OpenCode: {
		`{"info":{"id":"ses_1","directory":"/w","title":"List","version":"1.18.33","time":{"created":1767036059000,"updated":1767036069000}},"messages":[`,
		`{"info":{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1767036059100}},"parts":[{"id":"prt_1","type":"text","text":"list"},{"id":"prt_2","type":"text","synthetic":true,"text":"called"}]},`,
		`{"info":{"id":"msg_2","sessionID":"ses_1","role":"assistant","modelID":"big","cost":0.5,"finish":"tool-calls","time":{"created":1767036060000,"completed":1767036065000},"tokens":{"input":10,"output":5,"reasoning":2,"cache":{"read":1,"write":0}}},"parts":[{"type":"step-start"},{"type":"reasoning","text":"hm"},` +
			`{"type":"tool","callID":"t1","tool":"bash","state":{"status":"completed","input":{"command":"false"},"output":"","metadata":{"exit":1},"time":{"start":1767036061000,"end":1767036063000}}},` +
			`{"type":"tool","callID":"t2","tool":"edit","state":{"status":"error","input":{},"error":"The user rejected permission to use this specific tool call.","time":{"start":1767036061000,"end":1767036063000}}},` +
			`{"type":"tool","callID":"t3","tool":"read","state":{"status":"running","input":{}}},{"type":"step-finish","cost":0.5}]},`,
		`{"info":{"id":"msg_3","sessionID":"ses_1","role":"assistant","modelID":"big","finish":"stop","time":{"created":1767036066000}},"parts":[{"type":"text","text":"Done."}]}`,
		`],"share":{}}`,
	},
}

func TestEvents(t *testing.T) {
	tokens := func(input, output, read, write int64) events.Tokens {
		return events.Tokens{Input: input, Output: output, CacheRead: read, CacheCreation: write}
	}
	want := map[string]ingesttest.Counts{
		dialogue.Qwen:     {Runs: 2, Steps: 2, Prompts: 2, Calls: 5, Results: 5, Failed: 1, Denied: 2, Interrupted: 1, Responses: 2, Messages: 3, Customs: 1, Tokens: tokens(400, 52, 200, 0), Events: 26},
		dialogue.IFlow:    {Runs: 1, Steps: 1, Prompts: 1, Calls: 2, Results: 2, Failed: 1, Responses: 1, Messages: 3, Tokens: tokens(16472, 224, 0, 0), Events: 13},
		dialogue.Droid:    {Runs: 1, Steps: 1, Prompts: 1, Calls: 1, Results: 1, Failed: 1, Messages: 2, Customs: 1, Events: 10},
		dialogue.Pi:       {Runs: 1, Steps: 1, Prompts: 1, Calls: 3, Results: 3, Failed: 1, Responses: 1, Messages: 2, Customs: 1, Tokens: tokens(10, 5, 3, 2), Events: 16},
		dialogue.Kiro:     {Runs: 1, Steps: 1, Prompts: 1, Calls: 2, Results: 2, Failed: 2, Messages: 2, Customs: 1, Events: 12},
		dialogue.Cursor:   {Runs: 1, Steps: 1, Prompts: 1, Calls: 1, Messages: 2, Events: 8},
		dialogue.OpenCode: {Runs: 1, Steps: 1, Prompts: 1, Calls: 3, Results: 2, Failed: 1, Denied: 1, Responses: 1, Messages: 2, Customs: 1, Tokens: tokens(10, 7, 1, 0), Events: 14},
	}
	got := map[string]ingesttest.Counts{}
	for name, lines := range samples {
		data := []byte(strings.Join(lines, "\n"))
		if of := dialogue.Of(data, "session.jsonl"); of != name {
			t.Errorf("%s: detected as %q", name, of)
		}
		list, bad := ingesttest.Read(t, dialogue.Events(name), data, ingest.Options{File: "k1.jsonl"})
		ingesttest.Check(t, list)
		got[name] = ingesttest.Count(t, list, bad)
		for _, e := range list {
			if e.Source != name || e.ParentRun == "" && e.Agent != name {
				t.Errorf("%s: source %q and agent %q of %s", name, e.Source, e.Agent, e.Type)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The outcomes of all calls, and the end of the run.
func TestEvents_Outcomes(t *testing.T) {
	want := map[string]string{
		dialogue.Qwen:  "error exit 2, denied by permissions, denied by user rejected, success, interrupted interrupted: completed",
		dialogue.IFlow: "success, error exit 1: completed", dialogue.Droid: "error exit 1: completed",
		dialogue.Pi: "error exit 2, success, success exit 0: interrupted", dialogue.Kiro: "error exit 1, error: completed",
		dialogue.Cursor: ": completed", dialogue.OpenCode: "error exit 1, denied by user: completed",
	}
	for name, lines := range samples {
		list, _ := ingesttest.Read(t, dialogue.Events(name), []byte(strings.Join(lines, "\n")), ingest.Options{File: "k1.jsonl"})
		var outcomes []string
		end := ""
		for _, e := range list {
			switch {
			case e.Kind() == events.ToolResult:
				outcomes = append(outcomes, ingesttest.Outcome(t, e))
			case e.Kind() == events.RunFinished && e.ParentRun == "":
				end = string(ingesttest.Payload[events.RunFinishedData](t, e).RunStatus)
			}
		}
		if got := strings.Join(outcomes, ", ") + ": " + end; got != want[name] {
			t.Errorf("%s: got %q, want %q", name, got, want[name])
		}
	}
}

// A command that ended cannot pass for one that was stopped, whatever it prints.
func TestEvents_OpenCodeOutput(t *testing.T) {
	for exit, want := range map[string]string{"0": "success exit 0", "1": "error exit 1", "null": "interrupted interrupted"} {
		data := strings.Replace(strings.Join(samples[dialogue.OpenCode], "\n"),
			`"output":"","metadata":{"exit":1}`, `"output":"User aborted the command","metadata":{"exit":`+exit+`}`, 1)
		list, _ := ingesttest.Read(t, dialogue.Events(dialogue.OpenCode), []byte(data), ingest.Options{})
		i := slices.IndexFunc(list, func(e events.Event) bool { return e.Kind() == events.ToolResult })
		if got := ingesttest.Outcome(t, list[i]); got != want {
			t.Errorf("exit %s: got %q, want %q", exit, got, want)
		}
	}
}

func TestEvents_Grow(t *testing.T) {
	for name, lines := range samples {
		if name == dialogue.OpenCode {
			continue // an export is written at once
		}
		var versions [][]byte
		for n := 1; n <= len(lines); n++ {
			versions = append(versions, []byte(strings.Join(lines[:n], "\n")+"\n"))
		}
		t.Run(name, func(t *testing.T) { ingesttest.Grow(t, dialogue.Events(name), "k1.jsonl", versions) })
	}
}

// Lines of an unexpected shape are reported and kept, and ids that repeat get a number.
func TestEvents_Junk(t *testing.T) {
	data := strings.Join([]string{
		samples[dialogue.Pi][0], `{`, `7`, `{"type":"message","id":7}`, `{"type":"message","id":"1","message":{"role":"user","content":7}}`,
		samples[dialogue.Pi][2], samples[dialogue.Pi][2], `{"type":"message","message":{"role":"toolResult","toolCallId":"lost","content":[]}}`,
	}, "\n")
	list, bad := ingesttest.Read(t, dialogue.Events(dialogue.Pi), []byte(data), ingest.Options{File: "f.jsonl"})
	ingesttest.Check(t, list)
	if got := ingesttest.Count(t, list, bad); got.Bad != 4 || got.Prompts != 2 || got.Results != 1 || got.Customs != 2 {
		t.Errorf("got %+v", got)
	}
}

func FuzzEvents(f *testing.F) {
	for name, lines := range samples {
		f.Add(name, []byte(strings.Join(lines, "\n")))
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		dialogue.Of(data, "f.jsonl")
		if samples[name] != nil {
			ingesttest.Stable(t, dialogue.Events(name), data)
		}
	})
}
