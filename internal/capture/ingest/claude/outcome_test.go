package claude_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/claude"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// outcomes are refused calls, interrupted steps, and the end of the run.
type outcomes struct {
	Refused, Interrupted int
	End                  events.RunStatus
}

// recordedOutcomes was counted in the files by a program that shares no code with this package. It
// lists the sessions that did not end after a plain answer, or had a refusal or an interrupt.
var recordedOutcomes = map[string]outcomes{
	"entireio-cli/37-995ebed6e4-2/full.jsonl":                       {1, 1, events.RunCompleted},
	"entireio-cli/37-995ebed6e4-3/full.jsonl":                       {5, 1, events.RunCompleted},
	"entireio-cli/60-fd31fcf44f-0/full.jsonl":                       {0, 0, events.RunUnknown},
	"entireio-cli/8c-fa910f8ef9-5/full.jsonl":                       {1, 1, events.RunCompleted},
	"entireio-cli/91-b42542f24f-0/full.jsonl":                       {1, 0, events.RunCompleted},
	"entireio-cli/9b-04c3d92e38-1/full.jsonl":                       {1, 1, events.RunInterrupted},
	"entireio-cli/a4-7cfcb669b1-0/full.jsonl":                       {1, 0, events.RunCompleted},
	"entireio-cli/c2-83d360e6d5-3/full.jsonl":                       {0, 1, events.RunCompleted},
	"jnarowski-agentcmd/06381696-0074-49f8-863e-6ad4fac507f9.jsonl": {0, 0, events.RunUnknown},
	"jnarowski-agentcmd/full-session.jsonl":                         {0, 0, events.RunUnknown},
	"marot-spotter/short.jsonl":                                     {2, 1, events.RunInterrupted},
	"marot-spotter/subagent.jsonl":                                  {0, 1, events.RunCompleted},
	"marot-spotter/tool_heavy.jsonl":                                {0, 2, events.RunInterrupted},
}

func TestEvents_Outcomes(t *testing.T) {
	got := map[string]outcomes{}
	for _, row := range ingesttest.Oracle[oracleRow](t, "claude-code") {
		list, _ := readFile(t, realdata.Path(t, filepath.FromSlash(row.File)))
		var o outcomes
		for _, e := range list {
			switch e.Kind() {
			case events.ToolResult:
				if p := ingesttest.Payload[events.ToolResultData](t, e); p.Status == events.ToolDenied && p.DeniedBy == events.DeniedByUser {
					o.Refused++
				}
			case events.StepFinished:
				if ingesttest.Payload[events.StepFinishedData](t, e).StepStatus == events.StepInterrupted {
					o.Interrupted++
				}
			case events.RunFinished:
				o.End = ingesttest.Payload[events.RunFinishedData](t, e).RunStatus
			}
		}
		if o != (outcomes{End: events.RunCompleted}) {
			got[strings.TrimPrefix(row.File, "claude-code/")] = o
		}
	}
	if diff := cmp.Diff(recordedOutcomes, got); diff != "" {
		t.Errorf("(-independent count +events):\n%s", diff)
	}
}

// The texts are those of Claude Code 2.0 to 2.1.330.
func TestOutcome(t *testing.T) {
	const refused = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file)."
	for text, want := range map[string]string{
		refused + " STOP what you are doing":                                                                          "denied user",
		"The user doesn't want to take this action right now. STOP what you are doing":                                "denied user",
		refused + " Correction to the text above: this call was stopped while running, not refused before it ran.":    "interrupted ",
		"[Request interrupted by user for tool use]":                                                                  "interrupted ",
		"Exit code 137\n[Request interrupted by user for tool use]\n=== RUN":                                          "error ",
		"Exit code 2\nlog: this call was stopped while running, not refused before it ran":                            "error ",
		"[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown": "interrupted ",
		"[Tool call skipped: the turn ended to deliver the message that follows before this call ran.":                "interrupted ",
		"Permission to use Bash with command ls has been denied.":                                                     "denied permissions",
		"Permission for this tool use was denied. The tool use was rejected":                                          "denied permissions",
		"Claude requested permissions to use Bash, but you haven't granted it yet.":                                   "denied permissions",
		"ls in '/etc' was blocked. For security, Claude Code may only list files in the allowed directories":          "denied permissions",
		"Edit of '/x' was blocked by a deny rule.":                                                                    "denied permissions",
		"Write needs approval. The path is inside the working directories for this session":                           "denied permissions",
		"This command requires approval":                                                                              "denied permissions",
		"<tool_use_error>File is in a directory that is denied by your permission settings.</tool_use_error>":         "denied permissions",
		"PreToolUse:Bash hook error: [./guard.sh]: no":                                                                "denied hook",
		"Hook PreToolUse:Bash denied this tool":                                                                       "denied hook",
		"Permission denied by PermissionRequest hook":                                                                 "denied hook",
		"Bash operation blocked by hook:\nPreToolUse:Bash hook blocking error from command: \"guard\": no":            "denied hook",
		"PreToolUse:Bash hook blocking error from command: \"guard\": no":                                             "denied hook",
		"Agent type 'x' has been denied by permission rule 'Agent(x)' from project settings.":                         "denied permissions",
		"sed command requires approval (contains potentially dangerous operations)":                                   "denied permissions",
		"This Bash command contains multiple operations. The following part requires approval: git push":              "denied permissions",
		"Compound command contains cd with write operation - this requires approval":                                  "denied permissions",
		"Current permission mode (Accept edits) requires approval for this Bash command":                              "denied permissions",
		"ls in '/etc' needs approval. The path is outside the working directories for this session":                   "denied permissions",
		"Exit code 1\nmerge requires approval":                                                                        "error ",
		"Exit code 1: the request was blocked. For security reasons":                                                  "error ",
		"<tool_use_error>File does not exist.</tool_use_error>":                                                       "error ",
		"<tool_use_error>Sibling tool call errored</tool_use_error>":                                                  "error ",
		"Execution stopped by hook":                                                                                   "denied hook",
		"PreToolUse:mcp__x__y hook error: [./guard.sh]: no":                                                           "denied hook",
		"": "error ",
	} {
		status, by := claude.Outcome("Bash", "", text)
		if got := string(status) + " " + string(by); got != want {
			t.Errorf("%.60q: got %q, want %q", text, got, want)
		}
	}
	for kind, want := range map[string]string{
		"user-rejected": "denied permissions", "permission-rule": "denied permissions", "automode-blocked": "denied permissions",
		"interrupted": "interrupted ", "cancelled": "interrupted ", "": "error ",
	} {
		status, by := claude.Outcome("mcp__github__merge", kind, "merge needs approval")
		if got := string(status) + " " + string(by); got != want {
			t.Errorf("kind %q: got %q, want %q", kind, got, want)
		}
	}
}

// An MCP server chooses its text, and cannot show a failure as a refusal or an interrupt.
//
//guarantee:outcome-text
func TestOutcome_TextOfServer(t *testing.T) {
	for _, text := range []string{
		"The user doesn't want to proceed with this tool use.", "Permission to use the database: error 17", "[Request interrupted by user", "PreToolUse:x hook error",
	} {
		if status, by := claude.Outcome("mcp__db__drop", "", text); status != events.ToolError {
			t.Errorf("%q: %s %s", text, status, by)
		}
	}
}

// The agent chooses the names of files, which are in the errors of built-in tools.
//
//guarantee:outcome-text
func TestOutcome_FileNames(t *testing.T) {
	for _, text := range []string{
		"ENOENT: no such file or directory, open '/p/needs approval.md'",
		"ENOENT: no such file or directory, open 'x' was blocked by a deny rule.'",
		"EACCES: permission denied, open '/p/this requires approval'",
		"EISDIR: illegal operation on a directory, read '/p/x was blocked. For security'",
		"File does not exist: a hook blocking error",
		"File does not exist. Did you mean this requires approval?",
		"<tool_use_error>File does not exist. Did you mean Bash operation blocked by hook:",
		"Agent type 'a' has been denied by permission rule 'b' from settings' not found. Available agents: c",
		"Unable to read x stopped by hook.md stopped by hook",
	} {
		if status, by := claude.Outcome("Write", "", text); status != events.ToolError {
			t.Errorf("%q: %s %s", text, status, by)
		}
	}
}

// TestEvents_Ends checks that a step and its run have a good end only with evidence.
func TestEvents_Ends(t *testing.T) {
	const (
		prompt = u + `"uuid":"p","message":{"content":"go"}}`
		call   = a + `"uuid":"c","message":{"id":"m1","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}`
		result = u + `"uuid":"r","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}}`
		said   = a + `"uuid":"s","message":{"id":"m2","content":[{"type":"text","text":"Done."}]}}`
		stop   = u + `"uuid":"i","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}`
		synth  = a + `"uuid":"y","message":{"id":"m4","model":"<synthetic>","stop_reason":"stop_sequence","content":[{"type":"text","text":"No response requested."}]}}`
		turn   = `{"type":"system","subtype":"turn_duration","sessionId":"s","uuid":"d","durationMs":7}`
		begun  = a + `"uuid":"b","message":{"id":"m3","stop_reason":"tool_use","content":[{"type":"text","text":"I look."}]}}`
		think  = a + `"uuid":"h","message":{"id":"m5","content":[{"type":"thinking","thinking":"…"}]}}`
		cut    = a + `"uuid":"x","message":{"id":"m6","stop_reason":"max_tokens","content":[{"type":"text","text":"And so"}]}}`
		limit  = a + `"uuid":"l","isApiErrorMessage":true,"error":"rate_limit","message":{"id":"m7","model":"<synthetic>","content":[{"type":"text","text":"limit"}]}}`
	)
	for want, variants := range map[events.RunStatus][][]string{
		events.RunCompleted: {
			{prompt, said}, {prompt, call, result, said}, {prompt, call, result, turn}, {prompt, said, turn}, {prompt, stop, said},
		},
		events.RunUnknown: {
			{prompt},
			{prompt, call},
			{prompt, call, result},
			{prompt, begun},
			{prompt, think},
			{prompt, said, think},
			{prompt, said, call},
			{prompt, said, call, result},
			{prompt, cut},
			{`{"type":"summary","sessionId":"s","summary":"nothing happened"}`},
		},
		events.RunInterrupted: {{prompt, stop}, {prompt, call, result, stop}, {prompt, stop, turn}, {prompt, stop, synth}},
		events.RunFailed:      {{prompt, limit}, {prompt, call, result, limit}},
	} {
		for _, lines := range variants {
			list, _ := read(t, "f", []byte(strings.Join(lines, "\n")))
			ingesttest.Check(t, list)
			p := ingesttest.Payload[events.RunFinishedData](t, list[len(list)-1])
			if p.RunStatus != want {
				t.Errorf("%s: got %s, want %s", strings.Join(lines, "\n"), p.RunStatus, want)
			}
		}
	}
}

func TestEvents_StoppedCall(t *testing.T) {
	lines := []string{
		a + `"uuid":"c","message":{"id":"m1","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}},{"type":"tool_use","id":"k","name":"Bash","input":{}},{"type":"tool_use","id":"m","name":"mcp__db__drop","input":{}}]}}`,
		u + `"uuid":"r","toolUseResult":{"interrupted":true},"message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}}`,
		u + `"uuid":"w","toolUseResult":{"interrupted":true},"message":{"content":[{"type":"tool_result","tool_use_id":"m","content":"dropped"}]}}`,
		u + `"uuid":"q","toolDenialKind":"permission-rule","message":{"content":[{"type":"tool_result","tool_use_id":"k","is_error":true,"content":"no"}]}}`,
	}
	list, _ := read(t, "f", []byte(strings.Join(lines, "\n")))
	ingesttest.Check(t, list)
	got := map[string]string{}
	for _, e := range list {
		if e.Kind() == events.ToolResult {
			got[e.ToolCall] = ingesttest.Outcome(t, e)
		}
	}
	want := map[string]string{"t": "interrupted interrupted", "k": "denied by permissions", "m": "success"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func FuzzOutcome(f *testing.F) {
	f.Add("Bash", "", "The user doesn't want to proceed")
	f.Add("Bash", "user-rejected", "[Request interrupted by user")
	f.Add("mcp__x__y", "", "Exit code 137\n[Request interrupted")
	f.Fuzz(func(t *testing.T, tool, kind, text string) {
		status, by := claude.Outcome(tool, kind, text)
		known := []events.DeniedBy{events.DeniedByUser, events.DeniedByPermissions, events.DeniedByHook}
		if status == events.ToolSuccess || (status == events.ToolDenied) != slices.Contains(known, by) {
			t.Errorf("%q %q", status, by)
		}
	})
}

// In this session a hook of another system refused commits. Its results have the text of the hook
// only. Eight of them were counted in the file by another program.
func TestEvents_OtherHook(t *testing.T) {
	list, _ := readFile(t, realdata.Path(t, "claude-code", "marot-spotter", "ae4a77f8-aedd-4bc1-888f-c94edc91af04.jsonl"))
	denied := 0
	for _, e := range list {
		if e.Kind() != events.ToolResult {
			continue
		}
		if p := ingesttest.Payload[events.ToolResultData](t, e); p.DeniedBy == events.DeniedByHook {
			denied++
			if !strings.HasPrefix(p.Error.Message, "Pre-commit validation failed") {
				t.Errorf("refused by a hook: %.80s", p.Error.Message)
			}
		}
	}
	if denied != 8 {
		t.Errorf("another hook refused %d calls, want 8", denied)
	}
}

// The latest cost that Claude Code states is the cost of the session, unless it is incomplete.
func TestEvents_StatedCost(t *testing.T) {
	const prompt = `{"type":"user","sessionId":"s","uuid":"p","timestamp":"2026-01-01T00:00:00Z","message":{"content":"go"}}` + "\n"
	for lines, want := range map[string]*events.Cost{
		``: nil,
		`{"type":"cost-state","sessionId":"s","totalCostUSD":0.25,"modelUsage":{}}`:                                                     {USD: 0.25},
		`{"type":"cost-state","sessionId":"s","totalCostUSD":0.25}` + "\n" + `{"type":"cost-state","sessionId":"s","totalCostUSD":0.5}`: {USD: 0.5},
		`{"type":"cost-state","sessionId":"s","totalCostUSD":0.25,"hasUnknownModelCost":true}`:                                          nil,
		`{"type":"cost-state","sessionId":"s","totalCostUSD":0}`:                                                                        nil,
	} {
		list, _ := ingesttest.Read(t, claude.Events, []byte(prompt+lines), ingest.Options{})
		got := ingesttest.Payload[events.RunFinishedData](t, list[len(list)-1]).Cost
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", lines, diff)
		}
	}
}
