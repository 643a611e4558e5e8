package wire

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

func TestAppend(t *testing.T) {
	d := hooks.Document{
		Point: events.ToolBefore, Tool: "Bash", Args: `{"command":"a <b> & c"}`,
		Meta: hooks.Meta{Session: "abc123", Time: time.Date(2024, 1, 15, 11, 30, 0, 0, time.FixedZone("", 3600)), Agent: "coder", StepCount: 2},
	}
	got, err := Append([]byte("x"), "PreToolUse", d)
	want := `x{"event":"PreToolUse","point":"tool.before","tool":"Bash","args":{"command":"a <b> & c"},` +
		`"session_id":"abc123","timestamp":"2024-01-15T10:30:00Z","agent":"coder","step_count":2}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	got, err = Append(nil, "SessionStop", hooks.Document{Point: events.SessionEnded})
	if err != nil || !strings.Contains(string(got), `"tool":null,"args":null`) {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := Append(nil, "PreToolUse", hooks.Document{Args: "no JSON"}); err == nil || strings.Contains(err.Error(), "no JSON\"") {
		t.Errorf("got %v", err)
	}
}

func TestRoundTrip(t *testing.T) {
	points := hooks.Points()
	text := rapid.StringMatching(`[ -~é]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		point := rapid.SampledFrom(points).Draw(t, "point")
		d := hooks.Document{Point: point.Kind, Payload: `{"x":1}`, Meta: hooks.Meta{
			Tenant: text.Draw(t, "tenant"), Run: text.Draw(t, "run"), Session: text.Draw(t, "session"), Agent: text.Draw(t, "agent"),
			Flow: text.Draw(t, "flow"), Stopped: rapid.Bool().Draw(t, "stopped"), StepCount: rapid.IntRange(0, 9).Draw(t, "steps"),
			Sequence: rapid.Uint64().Draw(t, "sequence"), Time: time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "time"), 5).UTC(),
		}}
		if AboutTool(point.Kind) {
			d.Tool, d.Args, d.Result, d.Error = text.Draw(t, "tool"), `{"a":[1]}`, `"r"`, text.Draw(t, "error")
		}
		data, err := Append(nil, string(point.Kind), d)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(d, got); diff != "" {
			t.Fatalf("document (-want +got):\n%s", diff)
		}
	})
}

func TestParse(t *testing.T) {
	at := time.Date(2024, 1, 15, 10, 30, 0, 0, time.UTC)
	tests := []struct {
		name, data string
		want       hooks.Document
	}{
		{
			"Seed", `{"event":"PreToolUse","tool":"Bash","args":{"command":"git status"},"session_id":"abc123","timestamp":"2024-01-15T10:30:00Z"}`,
			hooks.Document{Point: events.ToolBefore, Tool: "Bash", Args: `{"command":"git status"}`, Meta: hooks.Meta{Session: "abc123", Time: at}},
		},
		{
			"Result", `{"event":"PostToolUse","tool":"Bash","args":null,"error":{"message":"exit 1"},"exit_code":1}`,
			hooks.Document{Point: events.ToolResult, Tool: "Bash", Error: "exit 1", Payload: `{"exit_code":1}`},
		},
		{
			"OtherFieldsArePayload", `{"event":"PromptSubmit","prompt":"hi","agent":"a","new":[1]}`,
			hooks.Document{Point: events.PromptSubmit, Payload: `{"new":[1],"prompt":"hi"}`, Meta: hooks.Meta{Agent: "a"}},
		},
		{
			"Payload", `{"event":"PromptSubmit","payload":{"prompt":"hi"},"other":1}`,
			hooks.Document{Point: events.PromptSubmit, Payload: `{"prompt":"hi"}`},
		},
		{
			"CloudEvent", `{"specversion":"1.0","id":"1","source":"/x","type":"hooktrail.tool.before","time":"2024-01-15T10:30:00Z","tenant":"acme","runid":"r",
				"sessionid":"s","toolcall":"c","data":{"tool":"Bash","args":{"command":"ls"},"verdict":"allow"}}`,
			hooks.Document{
				Point: events.ToolBefore, Tool: "Bash", Args: `{"command":"ls"}`, Payload: `{"tool":"Bash","args":{"command":"ls"},"verdict":"allow"}`,
				Meta: hooks.Meta{Tenant: "acme", Run: "r", Session: "s", ToolCall: "c", Time: at},
			},
		},
		{
			"CloudEventResult", `{"specversion":"1.0","id":"1","source":"/x","type":"hooktrail.tool.result","data":{"tool":"Bash","status":"error","error":{"message":"boom"}}}`,
			hooks.Document{Point: events.ToolResult, Tool: "Bash", Error: "boom", Payload: `{"tool":"Bash","status":"error","error":{"message":"boom"}}`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse([]byte(tt.data))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("document (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for data, want := range map[string]string{
		``: "document: want one JSON object", `[]`: "document: want one JSON object", `null`: "document: want one JSON object",
		`{"event":"PreToolUse"} {}`:                   "document: want one JSON object",
		`{}`:                                          "document: event: missing; want the name of a hook point, such as PreToolUse",
		`{"event":"secret"}`:                          "document: event: no hook point has this name; hooktrail hooks list shows them",
		`{"event":"PreToolUse","point":"error"}`:      "document: event: another hook point than the field point names",
		`{"event":"PreToolUse","tool":5}`:             "document: tool: want a string",
		`{"event":"PreToolUse","stopped":"secret"}`:   "document: stopped: want true or false",
		`{"event":"PreToolUse","sequence":-1}`:        "document: sequence: want a number that is not negative",
		`{"event":"PreToolUse","timestamp":"secret"}`: "document: timestamp: want a time as in 2024-01-15T10:30:00Z",
		`{"event":"PreToolUse","error":[]}`:           "document: error: want a string",
		`{"specversion":"1.0","id":"1","source":"/x","type":"com.example.secret"}`:                      "document: type: events of this type belong to no hook point",
		`{"specversion":"1.0","id":"1","source":"/x","type":"hooktrail.tool.before","data":"secret"}`:   "document: data: want an object with the fields of tool.before",
		`{"specversion":"1.0","id":"1","source":"/x","type":"hooktrail.tool.before","data":{"tool":5}}`: "document: data.tool: want a string",
		`{"event":"` + strings.Repeat("x", MaxBytes) + `"}`:                                             "document: longer than 1048576 bytes",
	} {
		if _, err := Parse([]byte(data)); err == nil || err.Error() != want {
			t.Errorf("%.80s: got %v, want %s", data, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"event":"PreToolUse","tool":"Bash","args":{"command":"git status"},"session_id":"abc123","timestamp":"2024-01-15T10:30:00Z"}`,
		`{"event":"Error","error":{"message":"x"}}`, `{"specversion":"1.0","id":"1","source":"/x","type":"hooktrail.tool.result","data":{"tool":"Bash"}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Parse(data)
		if err != nil {
			if _, ok := errors.AsType[*InvalidError](err); !ok {
				t.Fatalf("got %v", err)
			}
			return
		}
		out, err := Append(nil, string(d.Point), d)
		if err != nil {
			t.Fatal(err)
		}
		if len(out) > MaxBytes {
			return
		}
		again, err := Parse(out)
		if err != nil || again.Point != d.Point || again.Tool != d.Tool || again.Meta.Session != d.Meta.Session {
			t.Fatalf("got %+v, %v, want %+v", again, err, d)
		}
	})
}

func FuzzParseReply(f *testing.F) {
	for _, s := range []string{
		"", " \n", "{}", `{"action":"allow"}`, `{"action":"modify","modified_args":{}}`, `{"action":"explode"}`, `{"verdict":"ask","args":{"a":1}}`, "[]", "{",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := hooks.Document{Point: events.ToolBefore, Args: `{"a":1}`}
		r, err := ParseReply(data, d)
		if err != nil {
			if _, ok := errors.AsType[hooks.Fault](err); !ok || r != nil {
				t.Fatalf("got %+v, %v", r, err)
			}
			return
		}
		if r == nil {
			if strings.TrimSpace(string(data)) != "" {
				t.Fatal("an answer without an opinion was not empty")
			}
			return
		}
		switch r.Verdict {
		case "", hooks.None, hooks.Allow, hooks.Ask, hooks.Deny:
		default:
			t.Fatalf("got verdict %q", r.Verdict)
		}
		if r.Patch != "" && !json.Valid([]byte(r.Patch)) {
			t.Fatalf("got patch %q", r.Patch)
		}
	})
}
