package sweagent_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/sweagent"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// The files in testdata follow the published formats. The recorded data is from
// mini-swe-agent.
func TestEvents_Counts(t *testing.T) {
	tests := []struct {
		file   string
		want   ingesttest.Counts
		tools  map[string]int
		exits  map[int]int
		finish string
	}{
		{
			"", // recorded
			ingesttest.Counts{Runs: 1, Steps: 10, Prompts: 1, Calls: 10, Results: 10, Failed: 2, Responses: 10, Messages: 1, Events: 44},
			map[string]int{"bash": 10},
			map[int]int{0: 7, 1: 2},
			"true submitted [tests/missing_colon.py]",
		},
		{
			"testdata/example__lib-7.traj",
			ingesttest.Counts{Runs: 1, Steps: 5, Prompts: 1, Calls: 4, Results: 4, Failed: 2, Responses: 5, Messages: 2, Customs: 1, Events: 26},
			map[string]int{"bash": 2, "edit": 1, "submit": 1},
			map[int]int{},
			"true submitted [lib/a.py]",
		},
		{
			"testdata/old.traj",
			ingesttest.Counts{Runs: 1, Steps: 2, Prompts: 1, Calls: 2, Results: 2, Responses: 2, Messages: 2, Customs: 1, Events: 14},
			map[string]int{"open": 1, "bash": 1},
			map[int]int{},
			"false submitted (exit_cost) []",
		},
		{
			"testdata/attempts.traj",
			ingesttest.Counts{Runs: 3, Steps: 3, Calls: 3, Results: 3, Responses: 3, Messages: 1, Customs: 1, Events: 20},
			map[string]int{"bash": 1, "submit": 2},
			map[int]int{},
			"true submitted [a]",
		},
		{
			"testdata/toolcalls.traj.json",
			ingesttest.Counts{
				Runs: 1, Steps: 3, Prompts: 1, Calls: 4, Results: 4, Failed: 2, Responses: 3, Messages: 1, Errors: 1,
				Tokens: events.Tokens{Input: 120, Output: 30, CacheRead: 40}, Events: 19,
			},
			map[string]int{"bash": 4},
			map[int]int{0: 1, 2: 1},
			"true Submitted [a.py]",
		},
		{
			"testdata/responses.traj.json",
			ingesttest.Counts{
				Runs: 1, Steps: 1, Prompts: 1, Calls: 1, Results: 1, Responses: 1, Messages: 1,
				Tokens: events.Tokens{Input: 7, Output: 3, CacheRead: 2}, Events: 8,
			},
			map[string]int{"bash": 1},
			map[int]int{0: 1},
			"false LimitsExceeded []",
		},
		{
			"testdata/demonstration.traj",
			ingesttest.Counts{Runs: 1, Steps: 2, Prompts: 1, Calls: 2, Results: 2, Responses: 2, Messages: 1, Events: 12},
			map[string]int{"open": 1, "submit": 1},
			map[int]int{},
			"true submitted [b.py]",
		},
	}
	for _, tt := range tests {
		t.Run(filepath.Base(tt.file), func(t *testing.T) {
			if tt.file == "" {
				tt.file = realdata.Path(t, "mini-swe-agent", "github_issue.traj.json")
			}
			list, bad := ingesttest.ReadFile(t, sweagent.Events, tt.file)
			ingesttest.Check(t, list)
			if diff := cmp.Diff(tt.want, ingesttest.Count(t, list, bad)); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			tools, exits := ingesttest.Tools(t, list)
			end := ingesttest.Payload[events.RunFinishedData](t, list[len(list)-1])
			finish := fmt.Sprintf("%t %s %v", end.Success, end.Reason, end.Files)
			if diff := cmp.Diff([]any{tt.tools, tt.exits, tt.finish}, []any{tools, exits, finish}); diff != "" {
				t.Errorf("tools, exit codes, end (-want +got):\n%s", diff)
			}
		})
	}
}

// A trajectory has no times, so the execution times of commands advance the clock.
func TestEvents_Durations(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	data := ingesttest.Data(t, "testdata/example__lib-7.traj")
	list, _ := ingesttest.Read(t, sweagent.Events, data, ingest.Options{File: "example__lib-7.traj", Now: func() time.Time { return at }})
	var got []string
	for _, e := range list {
		if e.Kind() == events.ToolResult {
			got = append(got, fmt.Sprintf("%s %d", e.Time.Format("04:05.999"), ingesttest.Payload[events.ToolResultData](t, e).DurationMS))
		}
	}
	if want := []string{"04:05.5 500", "04:07 1500", "04:37 30000", "04:37.25 250"}; !slices.Equal(got, want) {
		t.Errorf("got results at %q, want %q", got, want)
	}
	end := list[len(list)-1]
	if p := ingesttest.Payload[events.RunFinishedData](t, end); p.DurationMS != 32250 || p.TokensUsed.Input != 1000 || p.Metadata["work_item"] != "https://example.invalid/lib/issues/7" {
		t.Errorf("got %+v, %+v", p, p.TokensUsed)
	}
	// No id depends on the time of the file.
	later, _ := ingesttest.Read(t, sweagent.Events, data, ingest.Options{File: "example__lib-7.traj"})
	for i := range list {
		if list[i].ID != later[i].ID {
			t.Fatalf("event %d, %s: its id depends on the time of the file", i, list[i].Type)
		}
	}
}

// A shell command is a call of the shell, so that rules about the shell apply. A
// command of SWE-agent is a separate tool.
func TestEvents_Tools(t *testing.T) {
	tests := []struct{ action, tool, args string }{
		{"ls -F\n", "bash", `{"command":"ls -F\n"}`},
		{"rm -rf build && edit x", "bash", `{"command":"rm -rf build && edit x"}`},
		{"edit 1:1\nx\nend_of_edit\n", "edit", `{"arguments":"1:1\nx\nend_of_edit"}`},
		{"submit", "submit", `{"arguments":""}`},
		{"str_replace_editor view /a", "str_replace_editor", `{"arguments":"view /a"}`},
	}
	for _, tt := range tests {
		in := string(ingest.JSON(map[string]any{"trajectory": []any{map[string]any{"action": tt.action, "observation": ""}}, "info": map[string]any{}}))
		list, _ := ingesttest.Read(t, sweagent.Events, []byte(in), ingest.Options{File: "f.traj"})
		for _, e := range list {
			if e.Kind() == events.ToolBefore {
				if p := ingesttest.Payload[events.ToolBeforeData](t, e); p.Tool != tt.tool || string(p.Args) != tt.args {
					t.Errorf("%q: got %s %s, want %s %s", tt.action, p.Tool, p.Args, tt.tool, tt.args)
				}
			}
		}
	}
}

// A value with an unexpected shape is reported and becomes a custom event.
func TestEvents_UnexpectedShape(t *testing.T) {
	tests := []struct {
		name, in string
		kinds    string
		bad      []string
	}{
		{
			"Step", `{"trajectory":[{"action":5}],"info":7}`, "run.started custom run.finished",
			[]string{"f:1: action: unexpected number", "f:1: info: not what was expected of it"},
		},
		{
			"Message", `[{"role":5},{"role":"assistant","content":"x"}]`, "run.started custom response.completed step.finished run.finished",
			[]string{"f:1: role: unexpected number"},
		},
		{
			"TwoCommands", "[{\"role\":\"assistant\",\"content\":\"```bash\\nls\\n```\\n```bash\\npwd\\n```\"},{\"role\":\"user\",\"content\":\"one, please\"}]",
			"run.started response.completed step.finished prompt.submit step.finished run.finished", nil,
		},
		{
			"Attempts", `{"attempts":[7],"trajectory":[]}`, "run.started run.started run.finished run.finished",
			[]string{"f:1: attempts: not what was expected of it"},
		},
		{"OnlyInfo", `{"info":{"exit_status":"exit_api"}}`, "run.started run.finished", nil},
		{"Empty", `[]`, "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var want []string
			if tt.kinds != "" {
				want = strings.Split(tt.kinds, " ")
			}
			kind := func(_ testing.TB, e events.Event) string { return string(e.Kind()) }
			ingesttest.Compare(t, sweagent.Events, tt.in, kind, want, tt.bad)
		})
	}
}

// mini-swe-agent rewrites its file after each answer.
func TestEvents_Grows(t *testing.T) {
	data := ingesttest.Data(t, "testdata/toolcalls.traj.json")
	var file struct {
		Info     json.RawMessage   `json:"info"`
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	var versions [][]byte
	for n := 3; n <= len(file.Messages); n++ {
		versions = append(versions, ingest.JSON(map[string]any{"info": file.Info, "messages": file.Messages[:n]}))
	}
	ingesttest.Grow(t, sweagent.Events, "toolcalls.traj.json", versions)
	early := ingest.JSON(map[string]any{"info": file.Info, "messages": file.Messages[:2]})
	if list, _ := ingesttest.Read(t, sweagent.Events, early, ingest.Options{File: "toolcalls.traj.json", Open: true}); len(list) > 0 {
		t.Errorf("got %d events of run %q before an answer names it", len(list), list[0].Run)
	}
}

func TestDetect(t *testing.T) {
	tests := []struct {
		head, name string
		want       bool
	}{
		{`{"environment":"swe_main","trajectory":[{"action"`, "x", true},
		{`{"trajectory":[{"action":"ls","observation":""`, "-", true},
		{`{"info":{"mini_version":"2.0.0"},"messages":[`, "x", true},
		{`{"info":{"config":{"long"`, "x.traj.json", true},
		{`{"history":[`, "demo.traj", true},
		{`{"history":[`, "demo.json", false},
		{`[{"role":"system","content":"Use mswea_bash_command"}]`, "-", true},
		{`[{"role":"system","content":"x"}]`, "a/b.traj.json", true},
		{`[{"role":"system","content":"x"}]`, "chat.json", false},
		{`{"type":"user"}`, "x.jsonl", false},
	}
	for _, tt := range tests {
		if got := sweagent.Detect([]byte(tt.head), tt.name); got != tt.want {
			t.Errorf("%s in %s: got %t, want %t", tt.head, tt.name, got, tt.want)
		}
	}
}

func FuzzEvents(f *testing.F) {
	files, err := filepath.Glob("testdata/*.traj*")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range files {
		f.Add(ingesttest.Data(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) { ingesttest.Stable(t, sweagent.Events, data) })
}
