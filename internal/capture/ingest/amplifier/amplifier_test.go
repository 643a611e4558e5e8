package amplifier_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/amplifier"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func logFile(tb testing.TB) []byte {
	tb.Helper()
	return ingesttest.Data(tb, realdata.Path(tb, "orchestrators", "amplifier", "amplifier.log.jsonl"))
}

func TestEvents_Counts(t *testing.T) {
	list, bad := ingesttest.Read(t, amplifier.Events, logFile(t), ingest.Options{File: "amplifier.log.jsonl"})
	ingesttest.Check(t, list)
	want := ingesttest.Counts{Runs: 3, Steps: 3, Responses: 3, Messages: 6, Customs: 289, Events: 316}
	if diff := cmp.Diff(want, ingesttest.Count(t, list, bad)); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	durations := map[int64]bool{}
	for _, e := range list {
		if e.Kind() == events.ResponseCompleted {
			durations[ingesttest.Payload[events.ResponseCompletedData](t, e).DurationMS] = true
		}
	}
	if want := map[int64]bool{3390: true, 10496: true, 9291: true}; !cmp.Equal(durations, want) {
		t.Errorf("got answers that took %v ms, want %v", durations, want)
	}
}

func TestEvents_KeepsEverything(t *testing.T) {
	data := logFile(t)
	list, _ := ingesttest.Read(t, amplifier.Events, data, ingest.Options{File: "f"})
	var kept strings.Builder
	outside := 0
	for _, e := range list {
		kept.Write(e.Data)
		if e.Run == "" {
			outside++
		}
	}
	var compact bytes.Buffer
	for n, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		compact.Reset()
		if err := json.Compact(&compact, line); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(kept.String(), compact.String()) {
			t.Errorf("line %d is lost", n+1)
		}
	}
	if outside == 0 || outside == len(list) {
		t.Errorf("%d of %d events are in no run", outside, len(list))
	}
}

func TestEvents_Lines(t *testing.T) {
	line := func(event, rest string) string {
		return `{"ts":"2026-01-01T00:00:00Z","schema":{"name":"amplifier.log"},"event":"` + event + `","session_id":"s"` + rest + `}`
	}
	tests := []struct {
		name  string
		lines []string
		want  []string
		bad   []string
	}{
		{
			"Tools",
			[]string{
				line("session:start", ``), line("prompt:submit", `,"data":{"prompt":"go"}`), line("provider:request", `,"data":{"messages":[1,2]}`),
				line("llm:request", ``), line("llm:response", `,"data":{"status":"ok","usage":{"input_tokens":10,"output_tokens":2,"cache_read_tokens":4}}`),
				line("provider:response", `,"data":{"usage":{"input_tokens":10}}`),
				line("tool:pre", `,"data":{"tool_name":"bash","tool_input":{"command":"ls"}}`),
				line("tool:pre", `,"data":{"tool_name":"read","tool_call_id":"c"}`),
				line("tool:post", `,"data":{"tool_name":"read","tool_call_id":"c","tool_result":{"success":false,"error":{"message":"gone"}}}`),
				line("tool:post", `,"data":{"tool_name":"bash","tool_result":{"success":true,"output":{"stdout":"","returncode":2}}}`),
				line("llm:request", ``), line("tool:error", `,"data":{"tool_name":"web","error":{"msg":"down"}}`), line("session:end", ``),
			},
			[]string{
				"s run.started", "s session.start", "s prompt.submit", "s llm.request", "s llm.request", "s response.completed", "s custom provider:response",
				"s tool.before bash", "s tool.before read", "s tool.result read error gone", "s tool.result bash error 2",
				"s step.finished completed 6/2 2", "s llm.request", "s tool.result web error down", "s step.finished completed 0/0 1", "s session.ended",
				"s run.finished true",
			},
			nil,
		},
		{
			"Failures",
			[]string{
				line("llm:request", ``), line("llm:response", `,"status":"error","error":"429 rate limit"`), line("llm:request", ``),
				line("llm:response", `,"status":"ok"`), line("llm:request", ``), line("provider:error", `,"data":{"error":{"message":"boom"}}`),
				line("cancel:completed", ``),
			},
			[]string{
				"s run.started", "s llm.request", "s error rate_limit", "s llm.request", "s response.completed", "s step.finished completed 0/0 0",
				"s llm.request", "s error api_error", "s custom cancel:completed", "s step.finished failed 0/0 0", "s run.finished false cancelled",
			},
			nil,
		},
		{
			"ForksAndLogLines",
			[]string{
				`{"ts":"2026-01-01T00:00:00Z","event":null,"logger":"boot","message":"m"}`, line("session:start", ``),
				`{"event":null,"logger":"core"}`, `{"ts":"2026-01-01T00:00:01Z","event":"session:fork","session_id":"k","parent_id":"s","data":{"agent":"explorer"}}`,
				`{"event":null,"logger":"core"}`, `{"event":"approval:denied","session_id":"k","data":{"tool_name":"bash"}}`,
				`{"event":"context:pre_compact","session_id":"k"}`, `{"event":"session:end","session_id":"k"}`, `{"event":null,"logger":"core"}`,
			},
			[]string{
				"custom log.boot", "s run.started", "s session.start", "s custom log.core", "k<s run.started", "s subagent.start k", "k<s session.start",
				"custom log.core", "k<s approval deny", "k<s compact.before", "k<s session.ended", "s custom log.core", "s run.finished false", "k<s run.finished true",
			},
			nil,
		},
		{
			"UnexpectedShape",
			[]string{`{"event":5}`, `7`, `{"event":`, line("x", `,"ts":"yesterday"`), `{"session_id":"a\u0000"}`},
			[]string{"custom line", "s run.started", "s custom x", "s custom line", "s run.finished false"},
			[]string{
				"f:1:10: event: unexpected number", "f:2:1: : unexpected number", "f:3:9: not JSON: the line ends early",
				"f:4: timestamp: not a time of the years 1970 to 9999, that of the line before is taken",
				"f:5: session_id, parent_id, tool_call_id or agent: cannot be used as an id",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ingesttest.Compare(t, amplifier.Events, strings.Join(tt.lines, "\n"), brief, tt.want, tt.bad)
		})
	}
}

func TestEvents_Grows(t *testing.T) {
	data := logFile(t)
	var versions [][]byte
	end := 0
	for n, line := range bytes.SplitAfter(data, []byte("\n")) {
		if end += len(line); n%37 == 0 || end == len(data) {
			versions = append(versions, data[:end])
		}
	}
	ingesttest.Grow(t, amplifier.Events, "amplifier.log.jsonl", versions)
}

func TestDetect(t *testing.T) {
	for head, want := range map[string]bool{
		"{\"ts\":\"t\",\"schema\":{\"name\":\"amplifier.log\",\"ver\":\"1.0.0\"}}\n": true,
		`{"ts":"t","schema":{"name":"other"}}`:                                       false,
		`{"schema":"amplifier.log"}`:                                                 false,
		``:                                                                           false,
	} {
		if got := amplifier.Detect([]byte(head), "f"); got != want {
			t.Errorf("%s: got %t, want %t", head, got, want)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(`{"ts":"2026-01-01T00:00:00Z","event":"session:fork","session_id":"k","parent_id":"s"}` + "\n" + `{"event":"tool:pre","session_id":"s","data":{"tool_name":"x"}}` + "\n" + `{"event":"tool:post","session_id":"s","tool_name":"x"}`))
	f.Add([]byte(`{"event":"llm:response","session_id":"s","usage":{"input_tokens":1}}` + "\n" + `{"event":"session:end","session_id":"s"}` + "\n{}"))
	f.Fuzz(func(t *testing.T, data []byte) { ingesttest.Stable(t, amplifier.Events, data) })
}
