package agents_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func readAll(tb testing.TB, read ingesttest.Adapter, name string, data []byte) (list []events.Event, reports []string) {
	tb.Helper()
	opts := ingest.Options{File: name, Tenant: "acme", Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }}
	for e, err := range read(tb.Context(), bytes.NewReader(data), opts) {
		if err != nil {
			reports = append(reports, err.Error())
			continue
		}
		if err := e.Validate(); err != nil {
			tb.Errorf("%s: event %s: %v", name, e.Type, err)
		}
		list = append(list, e)
	}
	return list, reports
}

func kinds(list []events.Event) map[events.Kind]int {
	n := map[events.Kind]int{}
	for _, e := range list {
		n[e.Kind()]++
	}
	return n
}

func TestLog_Recorded(t *testing.T) {
	tests := map[string]map[events.Kind]int{
		"CursorTouch-Operator-Use/post_tool_use.json": {events.ToolBefore: 164, events.ToolResult: 164, events.RunFinished: 18},
		"CursorTouch-Operator-Use/pre_tool_use.json":  {events.ToolBefore: 51, events.RunFinished: 2},
		"CursorTouch-Operator-Use/session_end.json":   {events.SessionEnded: 1, events.RunFinished: 1},
		"CursorTouch-Operator-Use/stop.json":          {events.StepFinished: 26, events.RunFinished: 3},
		"CursorTouch-Operator-Use/subagent_stop.json": {events.SubagentStopped: 33, events.RunFinished: 36, events.StepFinished: 33},

		"TomSelander-home-assistant-green-button/permission_request.json": {events.Approval: 28, events.RunFinished: 7},
		"TomSelander-home-assistant-green-button/pre_tool_use.json":       {events.ToolBefore: 170, events.RunFinished: 9},
		"TomSelander-home-assistant-green-button/session_end.json":        {events.SessionEnded: 4, events.RunFinished: 4},
		"TomSelander-home-assistant-green-button/session_start.json":      {events.SessionStart: 5, events.RunStarted: 5, events.RunFinished: 5},
		"TomSelander-home-assistant-green-button/stop.json":               {events.StepFinished: 3, events.RunFinished: 2},
		"TomSelander-home-assistant-green-button/subagent_start.json":     {events.SubagentStart: 7, events.RunStarted: 7, events.RunFinished: 8},
		"TomSelander-home-assistant-green-button/subagent_stop.json":      {events.SubagentStopped: 6, events.RunFinished: 7, events.StepFinished: 6},

		"ranaroussi-quantstats/post_tool_use.json": {events.ToolBefore: 14, events.ToolResult: 14, events.RunFinished: 1},
		"ranaroussi-quantstats/pre_tool_use.json":  {events.ToolBefore: 20, events.RunFinished: 1},
	}
	if files := ingesttest.Recorded(t, "hook-logs/*/*.json"); len(files) != len(tests) {
		t.Fatalf("there are %d files, want %d", len(files), len(tests))
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			data := ingesttest.Data(t, realdata.Path(t, "hook-logs", filepath.FromSlash(name)))
			if !agents.DetectLog(data[:min(len(data), ingest.HeadBytes)], name) {
				t.Error("is not taken for hook payloads")
			}
			list, reports := readAll(t, agents.Log, name, data)
			if diff := cmp.Diff(want, kinds(list)); diff != "" || len(reports) > 0 {
				t.Errorf("(-want +got):\n%s%v", diff, reports)
			}
			again, _ := readAll(t, agents.Log, "elsewhere", data)
			if diff := cmp.Diff(ids(list), ids(again)); diff != "" {
				t.Errorf("ids are others the next time:\n%s", diff)
			}
			unique := slices.Compact(slices.Sorted(slices.Values(ids(list))))
			if len(unique) != len(list) {
				t.Errorf("%d events have %d ids", len(list), len(unique))
			}
		})
	}
}

// An event has the time of the log if its payload has none, and says so.
func TestLog_Untimed(t *testing.T) {
	list, _ := readAll(t, agents.Log, "log.json", []byte(`[{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"Bash","tool_use_id":"t1"},
		{"hook_event_name":"SessionEnd","session_id":"timed","logged_at":"2026-03-10T23:07:57.524567"}]`))
	if len(list) != 5 {
		t.Fatalf("got %d events", len(list))
	}
	for _, e := range list {
		if want := e.Run == "s"; e.Untimed() != want || e.Time.Location() != time.UTC {
			t.Errorf("%s of run %s: untimed %t at %v", e.Type, e.Run, e.Untimed(), e.Time)
		}
	}
}

// A log of results alone has its calls with their arguments. A run without an end has an unknown one,
// which does not replace the end in another log.
func TestLog_ResultsOnly(t *testing.T) {
	const call = `"session_id":"s","tool_name":"Bash","tool_input":{"command":"ls -l"},"tool_use_id":"t1"}`
	list, _ := readAll(t, agents.Log, "post.json", []byte(`[{"hook_event_name":"PostToolUse","tool_response":"x",`+call+`]`))
	ended, _ := readAll(t, agents.Log, "end.json", []byte(`[{"hook_event_name":"SessionEnd","session_id":"s","reason":"other"}]`))
	pre, _ := readAll(t, agents.Log, "pre.json", []byte(`[{"hook_event_name":"PreToolUse",`+call+`]`))
	for _, c := range []struct {
		list []events.Event
		want events.RunStatus
	}{{list, events.RunUnknown}, {slices.Concat(ended, list), events.RunCompleted}, {slices.Concat(list, ended, pre), events.RunCompleted}} {
		var fold runtree.Fold
		for _, e := range c.list {
			fold.Add(e)
		}
		trace := fold.Trace("s")
		if trace.RunStatus != c.want || !trace.Finished || trace.ToolCalls != 1 || trace.Unanswered != 0 || trace.Steps[0].Rows[0].Detail != "ls -l" {
			t.Errorf("got %+v, want %s", trace, c.want)
		}
	}
	open := ingest.Options{File: "post.json", Tenant: "acme", Open: true}
	for e, err := range agents.Log(t.Context(), strings.NewReader(`[{"hook_event_name":"Stop","session_id":"s"}]`), open) {
		if err != nil || e.Kind() == events.RunFinished {
			t.Errorf("got %s and %v from an open log", e.Type, err)
		}
	}
}

// The agent reports the end of a sub-agent, not its outcome.
func TestLog_SubagentWithoutResults(t *testing.T) {
	const (
		call   = `{"session_id":"s","hook_event_name":"PreToolUse","agent_id":"a","agent_type":"Explore","tool_name":"Read","tool_use_id":"t1","tool_input":{"file_path":"x"}}` + "\n"
		answer = `{"session_id":"s","hook_event_name":"PostToolUse","agent_id":"a","agent_type":"Explore","tool_name":"Read","tool_use_id":"t1","tool_input":{"file_path":"x"},"tool_response":{}}` + "\n"
		stop   = `{"session_id":"s","hook_event_name":"SubagentStop","agent_id":"a","agent_type":"Explore","last_assistant_message":"done"}` + "\n"
	)
	seen := map[string]bool{}
	for _, tt := range []struct {
		name, log string
		run       events.RunStatus
		step      events.StepStatus
		status    string
	}{
		{"Answered", call + answer + stop, events.RunCompleted, events.StepCompleted, "success"},
		{"Unanswered", call + stop, events.RunUnknown, events.StepUnknown, ""},
		{"AnotherRun", strings.ReplaceAll(call, `"a"`, `"b"`) + stop, events.RunCompleted, events.StepCompleted, "success"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list, reports := readAll(t, agents.Log, "log", []byte(tt.log))
			if len(reports) > 0 {
				t.Errorf("reports %q", reports)
			}
			for _, e := range list {
				switch {
				case e.Kind() == events.SubagentStopped:
					if d, err := events.Payload[events.SubagentStoppedData](e); err != nil || d.Status != tt.status {
						t.Errorf("stopped with %q, error %v", d.Status, err)
					}
				case e.Run != "s/a":
				case e.Kind() == events.RunFinished:
					if d, err := events.Payload[events.RunFinishedData](e); err != nil || d.Status() != tt.run || d.OutputSummary != "done" {
						t.Errorf("run %s %q, error %v", d.Status(), d.OutputSummary, err)
					}
					if tt.name != "AnotherRun" && seen[e.ID] {
						t.Error("both outcomes have the same id")
					}
					seen[e.ID] = true
				case e.Kind() == events.StepFinished:
					if d, err := events.Payload[events.StepFinishedData](e); err != nil || d.StepStatus != tt.step {
						t.Errorf("step %s, error %v", d.StepStatus, err)
					}
				}
			}
			if len(seen) == 0 {
				t.Error("the run of the sub-agent has no end")
			}
		})
	}
}

func ids(list []events.Event) []string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = e.ID
	}
	return out
}

// Calls and results without ids match across two logs.
func TestLog_PairsAcrossFiles(t *testing.T) {
	fold := runtree.Fold{}
	var runs []string
	for _, name := range []string{"pre_tool_use.json", "post_tool_use.json"} {
		list, _ := readAll(t, agents.Log, name, ingesttest.Data(t, realdata.Path(t, "hook-logs", "ranaroussi-quantstats", name)))
		for _, e := range list {
			fold.Add(e)
			runs = append(runs, e.Run)
		}
	}
	var calls, unanswered int
	for _, run := range slices.Compact(slices.Sorted(slices.Values(runs))) {
		calls += fold.Trace(run).ToolCalls
		unanswered += fold.Trace(run).Unanswered
	}
	if calls != 20 || unanswered != 6 {
		t.Errorf("got %d calls, %d without result; want 20 and 6", calls, unanswered)
	}
}

// TestLog_Shapes reads payloads of every tool in a list, one after the other, and
// alone with indentation.
func TestLog_Shapes(t *testing.T) {
	for _, c := range captures {
		for _, p := range captured(t, c.dirs...) {
			list, reports := readAll(t, agents.Log, p.file, slices.Concat(p.data, []byte("\n"), p.data))
			if len(reports) > 0 || len(list) == 0 || list[0].Source != c.tool {
				t.Errorf("%s: %d events, %v", p.file, len(list), reports)
			}
			if !agents.DetectLog(p.data, p.file) && c.tool != "opencode" && p.event != "" {
				t.Errorf("%s: not taken for a hook payload", p.file)
			}
		}
	}
}

func TestLog_Faults(t *testing.T) {
	stop := `{"session_id":"s","hook_event_name":"Stop"}`
	list, reports := readAll(t, agents.Log, "f", []byte("["+stop+",7,\n"+stop+","))
	want := []string{"f:1: not a JSON object", "f:2:45: not JSON: the document ends early"}
	if diff := cmp.Diff(want, reports); diff != "" || len(list) != 3 || list[0].ID == list[1].ID || list[2].Kind() != events.RunFinished {
		t.Errorf("got %d events, reports (-want +got):\n%s", len(list), diff)
	}
	for _, head := range []string{"", "7", "[]", `{"sessionId":"s","type":"user","uuid":"u","timestamp":"2026"}`, `{"type":"session_meta"}`} {
		if agents.DetectLog([]byte(head), "x.json") {
			t.Errorf("%q is taken for hook payloads", head)
		}
	}
}

// sessionEvents returns a recorded session of Copilot CLI, reduced to one line of each
// type.
func sessionEvents(tb testing.TB) []byte {
	tb.Helper()
	type line struct{ at, text string }
	var lines []line
	for _, file := range ingesttest.Recorded(tb, "hook-payloads/copilot-cli/*/session-events/*.json") {
		data := ingesttest.Data(tb, file)
		var b bytes.Buffer
		if err := json.Compact(&b, data); err != nil {
			tb.Fatal(err)
		}
		var l struct{ Timestamp string }
		if err := json.Unmarshal(data, &l); err != nil {
			tb.Fatal(err)
		}
		lines = append(lines, line{l.Timestamp, b.String()})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return strings.Compare(a.at, b.at) })
	var all strings.Builder
	for _, l := range lines {
		all.WriteString(l.text + "\n")
	}
	return []byte(all.String())
}

func TestCopilotEvents_Recorded(t *testing.T) {
	data := sessionEvents(t)
	if !agents.DetectCopilotEvents(data, "events.jsonl") || agents.DetectLog(data, "events.jsonl") {
		t.Error("is not taken for a session of Copilot CLI")
	}
	list, reports := readAll(t, agents.CopilotEvents, filepath.Join("6c925dbb", "events.jsonl"), data)
	want := map[events.Kind]int{
		events.RunStarted: 2, events.SessionStart: 1, events.PromptSubmit: 1, events.ToolBefore: 1, events.ToolResult: 1,
		events.MessageCreated: 1, events.ResponseCompleted: 1, events.SubagentStart: 1, events.SubagentStopped: 1,
		events.ModelSwitched: 1, events.SessionEnded: 1, events.StepFinished: 1, events.RunFinished: 2, events.Custom: 7,
	}
	if diff := cmp.Diff(want, kinds(list)); diff != "" || len(reports) > 0 {
		t.Errorf("(-want +got):\n%s%v", diff, reports)
	}
	fold := runtree.Fold{}
	for _, e := range slices.Concat(list, list) {
		fold.Add(e)
	}
	tr := fold.Trace("6c925dbb-cbfa-438d-929a-4d04d4dff417")
	if tr.ToolCalls != 1 || tr.Unanswered != 0 || tr.Tokens.Input != 10 || len(tr.Children) != 1 || tr.Children[0].Run != "f66cf3d4-afed-46f4-a1c8-eb910c8a7819" {
		t.Errorf("got %+v", tr)
	}
	if row := tr.Steps[0].Rows[0]; row.ExitCode == nil || *row.ExitCode != 0 || row.Status != events.ToolSuccess {
		t.Errorf("got row %+v", row)
	}
}

func TestCopilotEvents_Faults(t *testing.T) {
	const line = `{"type":"%","data":{"toolCallId":"c","toolName":"bash","success":false,"error":{"message":"no","code":"denied"}},"id":"@","timestamp":"2026-11-21T07:30:06Z","parentId":null}`
	var data strings.Builder
	for i, typ := range []string{"tool.execution_complete", "tool.execution_complete", "tool.execution_start", "tool.execution_start", "subagent.started", "session.error"} {
		data.WriteString(strings.NewReplacer("%", typ, "@", string(rune('a'+i))).Replace(line) + "\n")
	}
	data.WriteString("7\n{\n" + strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 600) + "\n")
	list, reports := readAll(t, agents.CopilotEvents, filepath.Join("x", "my.jsonl"), []byte(data.String()))
	want := []string{"x/my.jsonl:7: not a JSON object", "x/my.jsonl:8:1: not JSON: the line ends early", "x/my.jsonl:9: nested more than 512 deep, kept as text"}
	if diff := cmp.Diff(want, reports); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
	wantKinds := map[events.Kind]int{
		events.RunStarted: 1, events.ToolResult: 1, events.Custom: 5, events.Error: 1, events.StepFinished: 1, events.RunFinished: 1,
	}
	if diff := cmp.Diff(wantKinds, kinds(list)); diff != "" || list[0].Run != "my" {
		t.Errorf("run %s (-want +got):\n%s", list[0].Run, diff)
	}
}
