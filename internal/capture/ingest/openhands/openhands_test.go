package openhands_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/openhands"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestEvents_Counts(t *testing.T) {
	tests := []struct {
		file     string
		want     ingesttest.Counts
		tools    map[string]int
		exits    map[int]int
		finished events.RunFinishedData
	}{
		{
			"multi_swe_bench/ponylang__ponyc-4588.json",
			ingesttest.Counts{
				Runs: 1, Steps: 49, Prompts: 1, Calls: 49, Results: 49, Failed: 24, Responses: 49, Messages: 1, Errors: 1, Customs: 2,
				Tokens: events.Tokens{Input: 938015, Output: 5627}, Events: 203,
			},
			map[string]int{"execute_bash": 24, "edit": 16, "read": 8, "think": 1},
			map[int]int{0: 12, 1: 4, 2: 6, 100: 2},
			events.RunFinishedData{
				RunStatus: events.RunFailed, Reason: "max_iterations", DurationMS: 449887, Steps: 49, ToolCalls: 49, ToolErrors: 24, Files: []string{"src/libponyc/expr/match.c"},
				TokensUsed: &events.Tokens{Input: 938015, Output: 5627},
				Error: &events.Failure{
					Message: "RuntimeError: Agent reached maximum iteration in headless mode. Current iteration: 50, max iteration: 50", Class: "max_iterations",
				},
			},
		},
		{
			"multi_swe_bench/ponylang__ponyc-4595.json",
			ingesttest.Counts{
				Runs: 1, Steps: 23, Prompts: 1, Calls: 23, Results: 22, Failed: 6, Responses: 23, Messages: 1, Customs: 2,
				Tokens: events.Tokens{Input: 565158, Output: 2558}, Events: 97,
			},
			map[string]int{"execute_bash": 13, "edit": 2, "read": 6, "think": 1, "finish": 1},
			map[int]int{0: 8, 2: 2, 127: 3},
			events.RunFinishedData{},
		},
		{
			"resolver/issue-1.json",
			ingesttest.Counts{Runs: 1, Steps: 4, Prompts: 1, Calls: 4, Results: 3, Responses: 4, Events: 18},
			map[string]int{"execute_bash": 2, "execute_ipython_cell": 1, "finish": 1},
			map[int]int{0: 2},
			events.RunFinishedData{},
		},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			list, bad := ingesttest.ReadFile(t, openhands.Events, realdata.Path(t, "openhands", tt.file))
			ingesttest.Check(t, list)
			if diff := cmp.Diff(tt.want, ingesttest.Count(t, list, bad)); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			tools, exits := ingesttest.Tools(t, list)
			end := ingesttest.Payload[events.RunFinishedData](t, list[len(list)-1])
			if diff := cmp.Diff([]any{tt.tools, tt.exits}, []any{tools, exits}); diff != "" {
				t.Errorf("tools and exit codes (-want +got):\n%s", diff)
			}
			if end.Raw = nil; tt.finished.Steps > 0 {
				if diff := cmp.Diff(tt.finished, end); diff != "" {
					t.Errorf("run.finished (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// The resolver and the evaluation add facts about the whole run.
func TestEvents_AboutTheRun(t *testing.T) {
	tests := []struct {
		file, run, workItem, reason, version string
		success, partial                     bool
	}{
		{"multi_swe_bench/ponylang__ponyc-4588.json", "ponylang__ponyc-4588-", "", "max_iterations", "0.35.0", false, false},
		{"multi_swe_bench/ponylang__ponyc-4595.json", "ponylang__ponyc-4595-", "", "finished", "0.35.0", true, true},
		{"resolver/issue-1.json", "neubig__pr-viewer-5-", "neubig/pr-viewer#5", "finished", "", true, false},
	}
	for _, tt := range tests {
		list, _ := ingesttest.ReadFile(t, openhands.Events, realdata.Path(t, "openhands", tt.file))
		first, last := list[0], list[len(list)-1]
		start := ingesttest.Payload[events.RunStartedData](t, first)
		end := ingesttest.Payload[events.RunFinishedData](t, last)
		item, _ := start.Metadata["work_item"].(string)
		partial, _ := end.Metadata["partial_success"].(bool)
		if !strings.HasPrefix(first.Run, tt.run) || item != tt.workItem || start.Version != tt.version || start.InputSummary == "" {
			t.Errorf("%s: run %s starts with %+v", tt.file, first.Run, start)
		}
		if end.Success != tt.success || end.Reason != tt.reason || partial != tt.partial || len(end.Files) != 1 {
			t.Errorf("%s: got success %t, reason %q, partial %t, files %q", tt.file, end.Success, end.Reason, partial, end.Files)
		}
	}
}

// The events contain every member of every item and of the document.
func TestEvents_KeepsEverything(t *testing.T) {
	for _, file := range []string{"multi_swe_bench/ponylang__ponyc-4588.json", "multi_swe_bench/ponylang__ponyc-4595.json", "resolver/issue-1.json"} {
		name := realdata.Path(t, "openhands", file)
		list, _ := ingesttest.ReadFile(t, openhands.Events, name)
		var kept strings.Builder
		for _, e := range list {
			kept.Write(e.Data)
		}
		data := ingesttest.Data(t, name)
		var document map[string]json.RawMessage
		var items []map[string]json.RawMessage
		if err := json.Unmarshal(data, &document); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(document["history"], &items); err != nil {
			t.Fatal(err)
		}
		delete(document, "history")
		for i, members := range append(items, document) {
			for name, value := range members {
				if text := compact(t, value); !strings.Contains(kept.String(), text) {
					t.Errorf("%s: item %d: %s is lost", file, i, name)
				}
			}
		}
	}
}

func compact(t *testing.T, value json.RawMessage) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func brief(tb testing.TB, e events.Event) string {
	tb.Helper()
	s := fmt.Sprintf("%s %s", e.Run[strings.LastIndex(e.Run, "/")+1:], e.Kind())
	if !strings.Contains(e.Run, "/") {
		s = string(e.Kind())
	}
	switch e.Kind() {
	case events.Custom:
		s += " " + ingesttest.Payload[events.CustomData](tb, e).Name
	case events.ToolBefore:
		s += " " + e.ToolCall + " " + ingesttest.Payload[events.ToolBeforeData](tb, e).Tool
	case events.ToolResult:
		p := ingesttest.Payload[events.ToolResultData](tb, e)
		s += " " + e.ToolCall + " " + string(p.Status)
		if p.Error != nil && p.Error.Class != "" {
			s += " " + p.Error.Class
		}
	case events.SubagentStart, events.SubagentStopped:
		s += " " + e.ToolCall
	case events.StepFinished:
		s += " " + e.Step
	case events.RunFinished:
		p := ingesttest.Payload[events.RunFinishedData](tb, e)
		s += fmt.Sprintf(" %t %s", p.Success, p.Reason)
	}
	return strings.TrimSpace(s)
}

func TestEvents_Items(t *testing.T) {
	const prompt = `{"id":1,"timestamp":"2025-04-30T17:00:00","source":"user","action":"message","args":{"content":"go"}},`
	tests := []struct {
		name, in string
		want     []string
		bad      []string
	}{
		{
			"Delegate",
			`[` + prompt + `{"id":2,"source":"agent","action":"delegate","args":{"agent":"BrowsingAgent","inputs":{}}},
			 {"id":3,"source":"user","action":"message","args":{"content":"browse"}},
			 {"id":4,"source":"agent","action":"browse","args":{"url":"u"}},{"id":5,"source":"agent","cause":4,"observation":"browse","content":"x"},
			 {"id":6,"source":"agent","cause":2,"observation":"delegate","content":"done"},
			 {"id":7,"source":"agent","action":"finish","args":{"thought":"ok"}}]`,
			[]string{
				"run.started", "prompt.submit", "response.completed", "tool.before action-2 delegate", "subagent.start action-2",
				"delegate-2 run.started", "delegate-2 prompt.submit", "delegate-2 response.completed",
				"delegate-2 tool.before action-4 browse", "delegate-2 tool.result action-4 success",
				"delegate-2 step.finished 3", "delegate-2 run.finished true", "subagent.stopped action-2", "tool.result action-2 success",
				"step.finished 1", "response.completed", "tool.before action-7 finish", "step.finished 7", "run.finished true finished",
			},
			nil,
		},
		{
			"ParallelCallsOfOneAnswer",
			`[` + prompt + `
			 {"id":2,"source":"agent","action":"run","args":{},"tool_call_metadata":{"tool_call_id":"a","model_response":{"id":"m"}}},
			 {"id":3,"source":"agent","action":"call_tool_mcp","args":{"name":"fetch"},"tool_call_metadata":{"tool_call_id":"b","model_response":{"id":"m"}}},
			 {"id":4,"cause":3,"observation":"mcp","content":"x"},{"id":5,"cause":2,"observation":"run","content":"","extras":{"metadata":{"exit_code":-1}}},
			 {"id":6,"source":"agent","action":"run","args":{},"tool_call_metadata":{"tool_call_id":"a","model_response":{"id":"n"}}},
			 {"id":7,"cause":6,"observation":"user_rejected","content":"no"}]`,
			[]string{
				"run.started", "prompt.submit", "response.completed", "tool.before a execute_bash", "tool.before b fetch", "tool.result b success",
				"tool.result a success", "step.finished 1", "response.completed", "tool.before action-6 execute_bash", "tool.result action-6 denied rejected",
				"step.finished 6", "run.finished false",
			},
			nil,
		},
		{
			"RefusedEdit",
			`[` + prompt + `{"id":2,"source":"agent","action":"edit","args":{"path":"a.py"}},
			 {"id":3,"cause":2,"observation":"edit","content":"[Your proposed edit has introduced new syntax error(s). Please understand the errors"},
			 {"id":4,"source":"agent","action":"edit","args":{"path":"a.py"}},
			 {"id":5,"cause":4,"observation":"edit","content":"The file says: Your proposed edit has introduced new syntax error(s)."}]`,
			[]string{
				"run.started", "prompt.submit", "response.completed", "tool.before action-2 edit", "tool.result action-2 error", "step.finished 1",
				"response.completed", "tool.before action-4 edit", "tool.result action-4 success", "step.finished 4", "run.finished false",
			},
			nil,
		},
		{
			"OldPairs",
			`{"instruction":"i","history":[[{"action":"message","content":"go"},{"observation":"null"}],[{"action":"run","command":"ls"},{"observation":"run","content":"x","exit_code":2}]],"error":null}`,
			[]string{
				"run.started", "prompt.submit", "custom observation.null", "response.completed", "tool.before action-item-2 execute_bash",
				"tool.result action-item-2 error", "step.finished item-0", "run.finished false not finished",
			},
			nil,
		},
		{
			"UnexpectedShape",
			`[` + prompt + `7,{"id":1,"action":5},{"id":2,"source":"agent","action":"message","args":{"content":"hi"}},
			 {"id":3,"timestamp":"yesterday","source":"environment","observation":"agent_state_changed"},{"id":4,"cause":99,"observation":"run"},
			 {"id":5,"source":"agent","action":"condensation","args":{}},{"id":6,"source":"agent","observation":"error","content":"bad call"}]`,
			[]string{
				"run.started", "prompt.submit", "custom item", "response.completed", "message.created", "custom observation.agent_state_changed",
				"custom observation.run", "compact.before", "error", "step.finished 1", "run.finished false",
			},
			[]string{
				"f:1: not a JSON object", "f:1: action: unexpected number",
				"f:2: timestamp: not a time of the years 1970 to 9999, that of the line before is taken",
			},
		},
		{
			"NoHistory", `{"instance_id":"x","instruction":"i","history":null,"error":"boom"}`,
			[]string{"run.started", "run.finished false error"},
			nil,
		},
		{"Empty", "[]", nil, nil},
		{
			"Truncated", `{"instruction":"i","history":[` + prompt + `{"id":2,"source":"ag`,
			[]string{"run.started", "prompt.submit", "step.finished 1", "run.finished false not finished"},
			[]string{"f:1:153: not JSON: the document ends early"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ingesttest.Compare(t, openhands.Events, tt.in, brief, tt.want, tt.bad)
		})
	}
}

func TestEvents_Times(t *testing.T) {
	const in = `[{"source":"user","action":"message","args":{"content":"a"},"timestamp":"2025-04-30T17:56:40.640800"},
		{"source":"agent","action":"message","args":{"content":"b"},"timestamp":"2025-04-30T19:56:41+02:00"},
		{"source":"agent","action":"message","args":{"content":"c"}}]`
	list, _ := ingesttest.Read(t, openhands.Events, []byte(in), ingest.Options{File: "f"})
	var got []string
	for _, e := range list {
		if e.Kind() == events.MessageCreated || e.Kind() == events.PromptSubmit {
			got = append(got, e.Time.Format("15:04:05.999999 MST"))
		}
	}
	if want := []string{"17:56:40.6408 UTC", "17:56:41 UTC", "17:56:41 UTC"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Two attempts at one instance are two runs, and so is a repeated document. Reading the
// file again gives the same runs.
func TestEvents_RunsOfOneInstance(t *testing.T) {
	attempt := func(command string) string {
		return `{"instance_id":"x","instruction":"i","history":[{"action":"message","content":"go"},{"action":"run","command":"` + command + `"}]}` + "\n"
	}
	in := attempt("ls") + attempt("pwd") + strings.ReplaceAll(attempt("ls"), ":", " : ")
	list, _ := ingesttest.Read(t, openhands.Events, []byte(in), ingest.Options{File: "output.jsonl"})
	ingesttest.Check(t, list)
	var runs []string
	for _, e := range list {
		if e.Kind() == events.RunStarted {
			runs = append(runs, e.Run)
		}
	}
	if len(runs) != 3 || runs[0] == runs[1] || runs[2] != runs[0]+"-2" || !strings.HasPrefix(runs[0], "x-") {
		t.Errorf("got runs %q", runs)
	}
}

// An evaluation appends a line for each instance, and the longer file still gives the
// same events.
func TestEvents_Grows(t *testing.T) {
	data := ingesttest.Data(t, realdata.Path(t, "openhands", "multi_swe_bench", "ponylang__ponyc-4595.json"))
	old := ingesttest.Data(t, realdata.Path(t, "openhands", "resolver", "issue-1.json"))
	both := slices.Concat(data, []byte("\n"), old)
	ingesttest.Grow(t, openhands.Events, "output.jsonl", [][]byte{data, both})
	early := []byte(`[{"id":1,"timestamp":"2025-04-30T16:32:54","source":"user","action":"message","args":{"content":"go"}}]`)
	if list, _ := ingesttest.Read(t, openhands.Events, early, ingest.Options{File: "t.json", Open: true}); len(list) > 0 {
		t.Errorf("got %d events of run %q before the agent does something that names it", len(list), list[0].Run)
	}
}

func TestDetect(t *testing.T) {
	for head, want := range map[string]bool{
		`{"instance_id":"x","test_result":{},"instruction":"i","history":[`:                                true,
		`{"issue":{},"issue_type":"issue","instruction":"i"}`:                                              true,
		`[{"id":0,"timestamp":"t","source":"agent","message":"","action":"system","args":{"content":"long`: true,
		`{"type":"user","sessionId":"s"}`:                                                                  false,
		`[{"role":"user","content":"x"}]`:                                                                  false,
		`{"instance_id":"x","model_patch":""}`:                                                             false,
		``:                                                                                                 false,
	} {
		if got := openhands.Detect([]byte(head), "f"); got != want {
			t.Errorf("%s: got %t, want %t", head, got, want)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(`{"instance_id":"x","instruction":"i","history":[{"id":1,"action":"message","source":"user","args":{"content":"go"}},{"id":2,"source":"agent","action":"delegate","args":{"agent":"B"}},{"id":3,"cause":2,"observation":"delegate"}],"error":"e"}`))
	f.Add([]byte(`[{"action":"run","command":"ls"},{"observation":"run","content":"ERROR:","exit_code":1,"success":false}]{"history":{"a":1}}`))
	f.Add([]byte(`[[{"id":1e1,"timestamp":"2025-04-30T17:56:40.6","source":"agent","action":"finish","llm_metrics":{"accumulated_token_usage":{"prompt_tokens":1}}}]]`))
	f.Fuzz(func(t *testing.T, data []byte) { ingesttest.Stable(t, openhands.Events, data) })
}
