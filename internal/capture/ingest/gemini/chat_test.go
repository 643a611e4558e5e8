package gemini_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/gemini"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	user = `{"id":"u1","timestamp":"2026-01-01T00:00:01Z","type":"user","content":[{"text":"list the files"}]}`
	call = `{"id":"t1","name":"run_shell_command","args":{"command":"ls"},"status":"executing","timestamp":"2026-01-01T00:00:02Z"}`
	done = `{"id":"t1","name":"run_shell_command","args":{"command":"ls"},"status":"success","timestamp":"2026-01-01T00:00:05Z","displayName":"Shell",` +
		`"result":[{"functionResponse":{"id":"t1","name":"run_shell_command","response":{"output":"Output: no\nExit Code: 2\nProcess Group PGID: 7"}}}]}`
	spent = `"tokens":{"input":10,"output":2,"cached":4,"thoughts":1,"tool":0,"total":13}`
)

func answer(rest string) string {
	return `{"id":"g1","timestamp":"2026-01-01T00:00:02Z","type":"gemini","model":"flash",` + rest + `}`
}

var samples = map[string][]string{
	"Lines": {
		`{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00Z","lastUpdated":"2026-01-01T00:00:00Z","kind":"main","messages":[]}`,
		`{"$set":{"messages":[{"id":"c0","timestamp":"2026-01-01T00:00:00Z","type":"user","content":"<session_context>the tree</session_context>"}]}}`,
		user,
		answer(`"content":"","thoughts":[],"tokens":null`),
		answer(`"content":"I look.","thoughts":[{"subject":"t"}],"toolCalls":[` + call + `],"tokens":null`),
		answer(`"content":"I look.","thoughts":[{"subject":"t"}],"toolCalls":[` + done + `],` + spent),
		answer(`"content":"I look.","thoughts":[{"subject":"t"}],"toolCalls":[` + done + `],` + spent),
		`{"$set":{"lastUpdated":"2026-01-01T00:00:06Z"}}`,
		`{"id":"e1","timestamp":"2026-01-01T00:00:07Z","type":"error","content":"[API Error: You exceeded your rate limit]"}`,
		`{"$rewindTo":"u1"}`,
		`{"id":"u2","timestamp":"2026-01-01T00:00:08Z","type":"user","content":"again"}`,
		`{"id":"g2","timestamp":"2026-01-01T00:00:09Z","type":"gemini","model":"pro","content":"done","tokens":{"input":1,"output":1}}`,
	},
	"Document": {
		"{", `"lastUpdated":"2026-01-01T00:00:09Z","messages":[`, user, ",", answer(`"content":"x","toolCalls":[` + done + `],` + spent), "],",
		`"projectHash":"h","sessionId":"s","startTime":"2026-01-01T00:00:00Z","newMember":{"a":1}}`,
	},
	"TwoDocuments": {
		`{"sessionId":"a","projectHash":"h","messages":[` + user + `]}`, `{"sessionId":"b","projectHash":"h","messages":[` + user + `]}`,
	},
	"SubAgent": {
		`{"sessionId":"child","projectHash":"h","kind":"subagent","startTime":"2026-01-01T00:00:00Z","messages":[]}`, user,
	},
	"Junk": {
		`{"sessionId":"s","projectHash":"h","messages":[]}`, `{`, `7`, `{"id":7}`, `{"id":"x","type":"gemini","toolCalls":{}}`,
		`{"id":"y","type":"gemini","timestamp":"noon","content":"hi","toolCalls":[3,{"name":""}],"tokens":{"input":-1}}`, `{"id":"z","type":"novel"}`,
	},
	"Answers": {
		`{"method":"generateContent","response":{"candidates":[{"content":{"parts":[{"text":"hi"},{"functionCall":{"name":"f","args":{"a":1}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":2}}}`,
		`{"method":"countTokens","response":{"totalTokens":3}}`, `oops`,
	},
}

func brief(tb testing.TB, e events.Event) string {
	tb.Helper()
	s := string(e.Kind())
	switch e.Kind() {
	case events.Custom:
		s += " " + ingesttest.Payload[events.CustomData](tb, e).Name
	case events.StepFinished:
		step := e.Step
		if strings.HasPrefix(step, "step-") { // derived from the prompt
			step = "step"
		}
		s += " " + step + " " + string(ingesttest.Payload[events.StepFinishedData](tb, e).StepStatus)
	case events.ToolBefore:
		p := ingesttest.Payload[events.ToolBeforeData](tb, e)
		s += " " + p.Tool + " " + string(p.Args)
	case events.ToolResult:
		p := ingesttest.Payload[events.ToolResultData](tb, e)
		s += " " + string(p.Status)
		if p.ExitCode != nil {
			s += " exit " + strconv.Itoa(*p.ExitCode)
		}
		s += " " + strconv.FormatInt(p.DurationMS, 10) + "ms"
	case events.PromptSubmit:
		s += " " + ingesttest.Payload[events.PromptSubmitData](tb, e).Prompt
	case events.MessageCreated:
		s += " " + ingesttest.Payload[events.MessageData](tb, e).Role
	case events.Error:
		s += " " + ingesttest.Payload[events.ErrorData](tb, e).Error.Class
	}
	if e.Run != "s" {
		s = e.Run + ": " + s
	}
	return s
}

func TestEvents_Shapes(t *testing.T) {
	want := map[string][]string{
		"Lines": {
			"run.started", "session.start", "message.created user", "prompt.submit list the files", "message.created assistant",
			"message.created assistant", `tool.before run_shell_command {"command":"ls"}`, "tool.result error exit 2 3000ms",
			"response.completed", "custom $set", "error rate_limit", "custom $rewindTo", "step.finished step failed", "prompt.submit again",
			"model.switched", "message.created assistant", "response.completed", "step.finished step completed", "run.finished",
		},
		"Document": {
			"run.started", "session.start", "prompt.submit list the files", "message.created assistant",
			`tool.before run_shell_command {"command":"ls"}`, "tool.result error exit 2 3000ms", "response.completed", "custom newMember",
			"step.finished step unknown", "run.finished",
		},
		"TwoDocuments": {
			"a: run.started", "a: session.start", "a: prompt.submit list the files",
			"b: run.started", "b: session.start", "b: prompt.submit list the files",
			"a: step.finished step unknown", "a: run.finished", "b: step.finished step unknown", "b: run.finished",
		},
		"SubAgent": {
			"parent/child: run.started", "parent/child: session.start", "parent/child: prompt.submit list the files",
			"parent/child: step.finished step unknown", "parent/child: run.finished",
		},
		"Junk": {
			"run.started", "session.start", "custom line", "custom message", "message.created assistant", "custom toolCall", "custom toolCall",
			"custom message.novel", "step.finished y completed", "run.finished",
		},
		"Answers": {
			"f: run.started", `f: tool.before f {"a":1}`, "f: message.created assistant", "f: response.completed", "f: custom countTokens",
			"f: step.finished line-bb1ea9326d5f8d611c31e4ec8e1addd4 completed", "f: run.finished",
		},
	}
	reports := map[string][]string{
		"Junk": {
			"parent/f:2:1: not JSON: the line ends early", "parent/f:3: not a JSON object", "parent/f:4:7: id: unexpected number",
			"parent/f:5: message: not of the expected shape", "parent/f:6: " + ingest.BadTime, "parent/f:6: tokens: a count is out of range",
		},
		"Answers": {"parent/f:3:1: not JSON: unexpected character"},
	}
	read := func(ctx context.Context, r io.Reader, opts ingest.Options) iter.Seq2[events.Event, error] {
		opts.File = "parent/f"
		return gemini.Events(ctx, r, opts)
	}
	for name, lines := range samples {
		t.Run(name, func(t *testing.T) {
			ingesttest.Compare(t, read, strings.Join(lines, "\n"), brief, want[name], reports[name])
		})
	}
}

// The exit code comes from the trailer of the shell tool and never from the output.
//
//guarantee:outcome-text
func TestEvents_Status(t *testing.T) {
	tests := []struct{ name, tool, status, output, want string }{
		{"Old", "run_shell_command", "success", `Command: x\nDirectory: (root)\nOutput: (empty)\nError: (none)\nExit Code: 0\nSignal: 0\nBackground PIDs: (none)\nProcess Group PGID: 1`, "success exit 0"},
		{"Failed", "run_shell_command", "success", `<untrusted_context>\nOutput: cat: no\nExit Code: 1\nProcess Group PGID: 1\n</untrusted_context>`, "error exit 1"},
		{"OutputSaysSo", "run_shell_command", "success", `Output: the log:\nExit Code: 1\nand more\nProcess Group PGID: 1`, "success"},
		{"NoNumber", "run_shell_command", "success", `Output: x\nExit Code: (none)`, "success"},
		{"File", "read_file", "success", `a file that says error`, "success"},
		{"FileSaysSo", "read_file", "success", `the log:\nExit Code: 1`, "success"},
		{"Error", "read_file", "error", `not found`, "error"},
		{"Cancelled", "run_shell_command", "cancelled", ``, "interrupted interrupted"},
		{"Stopped", "run_shell_command", "cancelled", `[Operation Cancelled] Reason: User cancelled tool execution.`, "interrupted interrupted"},
		{"Refused", "run_shell_command", "cancelled", `[Operation Cancelled] Reason: User did not allow tool call`, "denied by user rejected"},
		{"OutputSaysPolicy", "run_shell_command", "success", `Output: Tool execution denied by policy\nExit Code: 1`, "error exit 1"},
		{"Policy", "run_shell_command", "error", `Tool execution denied by policy.`, "denied by permissions"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lines := []string{samples["Lines"][0], answer(`"content":"","toolCalls":[{"id":"t","name":"` + tt.tool + `","status":"` + tt.status +
				`","result":[{"functionResponse":{"response":{"output":"` + tt.output + `"}}}]}]`)}
			list, _ := ingesttest.Read(t, gemini.Events, []byte(strings.Join(lines, "\n")), ingest.Options{})
			if got := ingesttest.Outcome(t, list[3]); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Reading a large recording that is a single JSON object needs memory for only a few
// messages.
func TestEvents_BoundedMemory(t *testing.T) {
	const messages = 320
	text := strings.Repeat("x", 64<<10)
	next := 0
	body := readerFunc(func(p *bytes.Buffer) bool {
		if next++; next > messages {
			return false
		}
		fmt.Fprintf(p, `,{"id":"g%d","timestamp":"2026-01-01T00:00:02Z","type":"gemini","content":"%s"}`, next, text)
		return true
	})
	in := io.MultiReader(
		strings.NewReader(`{"sessionId":"s","projectHash":"h","messages":[`+user), &chunks{fill: body}, strings.NewReader("]}"))
	var most uint64
	seen := 0
	for e, err := range gemini.Events(t.Context(), in, ingest.Options{File: "f", Tenant: "t"}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind() != events.MessageCreated {
			continue
		}
		if seen++; seen%40 == 0 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
	}
	if seen != messages || most > 10<<20 {
		t.Errorf("got %d messages of %d in %d MiB, want at most 10 MiB", seen, messages, most>>20)
	}
}

type readerFunc func(*bytes.Buffer) bool

// chunks reads the output of fill until fill writes nothing.
type chunks struct {
	fill readerFunc
	buf  bytes.Buffer
}

func (c *chunks) Read(p []byte) (int, error) {
	if c.buf.Len() == 0 && !c.fill(&c.buf) {
		return 0, io.EOF
	}
	return c.buf.Read(p)
}
