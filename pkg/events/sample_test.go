package events

import (
	"encoding/json"
	"maps"
	"reflect"
	"testing"
)

// sample returns an event of kind k whose payload has every field set.
func sample(tb testing.TB, k Kind) Event {
	tb.Helper()
	payload, ok := samples()[k]
	if !ok {
		tb.Fatalf("no sample of %s", k)
	}
	e := full()
	e.Type, e.Extra = k.Type(), nil
	e.ID = DeriveID("sample", string(k))
	if err := e.SetData(payload); err != nil {
		tb.Fatal(err)
	}
	return e
}

func samples() map[Kind]any {
	m := sampleRecords()
	for _, more := range []map[Kind]any{sampleRuns(), sampleTools(), sampleMessages()} {
		maps.Copy(m, more)
	}
	return m
}

var (
	sampleCommon = Common{
		Blobs: map[string]BlobRef{"content": {SHA256: HashOf([]byte("content")).String(), Bytes: 1_500_000}},
		Raw:   json.RawMessage(`{"type":"assistant","message":{"id":"msg_1","usage":{"input_tokens":12}}}`),

		Redacted: []Redaction{{Field: "/raw/message/content/0/text", Rule: "email", Start: 12, End: 30}, {Rule: "email", More: 7}},
		Untimed:  true,
	}
	sampleOutcome = Outcome{
		Verdict: VerdictAllow, Reason: "inside the allowed paths", Context: "the tests run with make test",
		Executions: []Execution{{
			Hook: "hook-1a2b3c4d", Name: "allowedWritePaths", Point: ToolBefore, Success: true, Error: "timed out",
			DurationMS: 0.25, Verdict: VerdictAllow, Modified: true, TimedOut: true,
		}},
	}
	sampleNotified = Notified{Executions: sampleOutcome.Executions}
	sampleTokens   = &Tokens{Input: 1200, Output: 340, CacheCreation: 56, CacheRead: 78}
	sampleCost     = &Cost{USD: 0.25, Estimated: true, Prices: "2026-10-24"}
	sampleFailure  = Failure{Message: "connection reset by peer", Class: "network"}
	sampleMetadata = map[string]any{"complexity": 4, "work_item": "AUTH-12", "partial_success": true}
)

func sampleRuns() map[Kind]any {
	return map[Kind]any{
		RunStarted: RunStartedData{
			RunType: "RESOLVE", AgentRole: "FOREMAN", Title: "Fix the login", InputSummary: "users cannot log in", Model: "claude-sonnet",
			Cwd: "/src/app", Version: "2.1.329", Metadata: sampleMetadata, Notified: sampleNotified, Common: sampleCommon,
		},
		StepFinished: StepFinishedData{
			RunType: "RESOLVE", AgentRole: "CODER", StepStatus: StepFailed, InputSummary: "patch session.go", OutputSummary: "tests fail",
			DurationMS: 4200, TokensUsed: sampleTokens, ToolCalls: 3, ToolErrors: 1, ToolDenied: 1, ToolInterrupted: 1, Error: &sampleFailure, Metadata: sampleMetadata, Notified: sampleNotified, Common: sampleCommon,
		},
		RunFinished: RunFinishedData{
			RunType: "RESOLVE", Success: true, RunStatus: RunCompleted, Reason: "completed", OutputSummary: "fixed", DurationMS: 9000, Cost: sampleCost, TokensUsed: sampleTokens,
			Steps: 2, ToolCalls: 5, ToolErrors: 1, ToolDenied: 1, ToolInterrupted: 1, Unanswered: 1, Files: []string{"session.go"}, Error: &sampleFailure, Metadata: sampleMetadata, Notified: sampleNotified, Common: sampleCommon,
		},
		StepBefore: StepBeforeData{
			State: json.RawMessage(`{"attempt":1}`), Merged: json.RawMessage(`{"hint":"look at session.go"}`), Outcome: sampleOutcome, Common: sampleCommon,
		},
		StepOutput: StepOutputData{
			State: json.RawMessage(`{"attempt":1}`), Output: json.RawMessage(`"done"`), Outcome: sampleOutcome, Common: sampleCommon,
		},
		SessionStart: SessionStartData{
			From: "resume", Model: "claude-sonnet", Charter: "a careful coder", Config: json.RawMessage(`{"temperature":0}`), Outcome: sampleOutcome, Common: sampleCommon,
		},
		SessionEnded: SessionEndedData{
			Reason: "logout", DurationMS: 60000, TokensUsed: sampleTokens, ToolCalls: 5, Files: []string{"session.go"}, Notified: sampleNotified, Common: sampleCommon,
		},
		SubagentStart: SubagentStartData{
			Subagent: "a1b2", Name: "explorer", Model: "claude-haiku", TaskType: "search", Charter: "find the tests", Outcome: sampleOutcome, Common: sampleCommon,
		},
		SubagentStopped: SubagentStoppedData{
			Subagent: "a1b2", Name: "explorer", Model: "claude-haiku", Status: "success", DurationMS: 800, TokensUsed: sampleTokens, TotalTokens: 1674,
			ToolCalls: 2, Files: []string{"session_test.go"}, Notified: sampleNotified, Common: sampleCommon,
		},
	}
}

func sampleTools() map[Kind]any {
	return map[Kind]any{
		ToolBefore: ToolBeforeData{
			Tool: "Bash", Args: json.RawMessage(`{"command":"go test ./..."}`), PatchedArgs: json.RawMessage(`{"command":"go test -short ./..."}`),
			Outcome: sampleOutcome, Common: sampleCommon,
		},
		ToolResult: ToolResultData{
			Tool: "Bash", Args: json.RawMessage(`{"command":"go test ./..."}`), Status: ToolDenied, DeniedBy: DeniedByUser, Result: json.RawMessage(`"FAIL"`), Error: &sampleFailure,
			ExitCode: new(1), DurationMS: 1500, Suppress: true, Outcome: sampleOutcome, Common: sampleCommon,
		},
		ToolResultStore: ToolResultStoreData{Tool: "Bash", Result: json.RawMessage(`{"stdout":"ok"}`), Outcome: sampleOutcome, Common: sampleCommon},
		Approval: ApprovalData{
			Tool: "Bash", Args: json.RawMessage(`{"command":"git push"}`), Prompt: "Push to main?", Options: []string{"yes", "no"}, Selected: "no",
			Outcome: sampleOutcome, Common: sampleCommon,
		},
	}
}

func sampleMessages() map[Kind]any {
	message := MessageData{
		Message: "msg_1", Role: "assistant", Content: json.RawMessage(`[{"type":"text","text":"Done."}]`), Updates: json.RawMessage(`{"pinned":true}`),
		Outcome: sampleOutcome, Common: sampleCommon,
	}
	history := HistoryData{
		Before: 12, After: 10, BeforeSHA256: HashOf([]byte("12")).String(), AfterSHA256: HashOf([]byte("10")).String(), Model: "claude-sonnet",
		Outcome: sampleOutcome, Common: sampleCommon,
	}
	return map[Kind]any{
		PromptSubmit:  PromptSubmitData{Prompt: "Fix the login, please", Directives: []string{"always run the tests"}, Outcome: sampleOutcome, Common: sampleCommon},
		MessageCreate: message, MessageCreated: message, MessageUpdate: message, MessageUpdated: message,
		MessagesFilter: history, LLMRequest: history,
		ResponseCompleted: ResponseCompletedData{
			Message: "msg_1", Model: "claude-sonnet", StopReason: "end_turn", Text: "Done.", Cost: sampleCost, TokensUsed: sampleTokens, DurationMS: 900, Telemetry: true, Notified: sampleNotified, Common: sampleCommon,
		},
		CompactBefore: CompactBeforeData{
			Trigger: "auto", Strategy: "summarise", Tokens: 180000, MaxTokens: 200000, Preserve: []string{"decisions"}, Export: []string{"history"},
			Outcome: sampleOutcome, Common: sampleCommon,
		},
		Error: ErrorData{
			Error: sampleFailure, ErrorType: "api_error", Model: "claude-sonnet", Attempt: 2, Retry: new(true), Fallback: "claude-haiku", BackoffMS: 2000,
			Outcome: sampleOutcome, Common: sampleCommon,
		},
		CheckpointCreated: CheckpointCreatedData{Checkpoint: "cp-3", Reason: "before the edit", Files: []string{"session.go"}, Notified: sampleNotified, Common: sampleCommon},
		ModelSwitched:     ModelSwitchedData{From: "claude-sonnet", To: "claude-haiku", Reason: "budget", Notified: sampleNotified, Common: sampleCommon},
		MemoryUpdated:     MemoryUpdatedData{Key: "style", Operation: "append", Summary: "tabs, not spaces", Notified: sampleNotified, Common: sampleCommon},
	}
}

func sampleRecords() map[Kind]any {
	hash := HashOf([]byte("whole content")).String()
	return map[Kind]any{
		HookExecuted: HookExecutedData{
			Execution: sampleOutcome.Executions[0], Dispatch: "01939c2e-7f00-7000-8000-000000000001", Late: true, Common: sampleCommon,
		},
		RunSealed:    RunSealedData{Count: 180, First: 2, Last: 181, Digest: hash, Common: sampleCommon},
		GapRecorded:  GapRecordedData{First: 97, Last: 97, Reason: "shed", Common: sampleCommon},
		BlobChunk:    BlobChunkData{SHA256: hash, Bytes: 1_500_000, Index: 1, Chunks: 3, Content: []byte("part of it"), Common: sampleCommon},
		IssueDecided: IssueDecidedData{Event: "e-1", Action: "create", Rule: "failed_step", Reason: "the step failed", Issues: []string{"ht-1"}, Counters: map[string][2]int64{"failures": {1, 3}}, Flip: "a completed step", Config: hash, Common: sampleCommon},
		IssueEdited:  IssueEditedData{Event: "e-1", Issue: "ht-1", Action: "assigned", By: "jdoe", User: "jdoe@laptop", Value: "mmuster", Common: sampleCommon},
		AuditAccessed: AuditAccessedData{
			Action: AuditReplay, By: "jdoe", User: "jdoe@laptop", Reason: "incident 7", Ticket: "INC-7",
			Selection: &AuditSelection{Run: "run-1", Event: "e-1", User: "mmuster", From: &at, To: &at, Kind: "tool.*", Hold: "h-1"},
			As:        "bundle", Order: "a signed note", Common: sampleCommon,
		},
		ProducerLost: ProducerLostData{Producer: "coder/e4", Outbox: "coder", Last: 181, Key: "UCODER", Common: sampleCommon},
		ClockTicked:  ClockTickedData{At: at, Common: sampleCommon},
		Custom:       CustomData{Name: "Notification", Data: json.RawMessage(`{"title":"waiting"}`), Common: sampleCommon},
	}
}

func TestSamplesAreComplete(t *testing.T) {
	all := samples()
	if len(all) != len(Kinds()) {
		t.Errorf("%d samples for %d kinds", len(all), len(Kinds()))
	}
	for k, payload := range all {
		want, ok := PayloadOf(k)
		if !ok || reflect.TypeOf(want).Elem() != reflect.TypeOf(payload) {
			t.Errorf("%s: the sample is a %T, the registry has %T", k, payload, want)
		}
		v := reflect.ValueOf(payload)
		for _, f := range reflect.VisibleFields(v.Type()) {
			if v.FieldByIndex(f.Index).IsZero() {
				t.Errorf("%s: %s is not set", k, f.Name)
			}
		}
	}
}
