package hooks

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
)

// histories are requests of current APIs, written by hand.
var histories = map[string]string{
	"Anthropic": `[
  {"role": "user", "content": [{"type":"text","text":"a <b> & \u003c","cache_control":{"type":"ephemeral","ttl":"1h"}},
    {"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBOR"}}]},
  {"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s=="},{"type":"redacted_thinking","data":"x"},
    {"type":"tool_use","id":"toolu_1","name":"Bash","input":{"n":1.50,"big":12345678901234567890}}]},
  {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":[{"type":"text","text":"no"}]}]},
  {"content":"last","role":"user"}]`,
	"OpenAI": `[{"role":"developer","content":[{"type":"text","text":"be brief"}]},
  {"role":"user","content":[{"type":"image_url","image_url":{"url":"data:","detail":"low"}},{"type":"input_audio","input_audio":{"data":"AA","format":"wav"}}]},
  {"role":"assistant","refusal":null,"annotations":[],"audio":{"id":"a"},"tool_calls":[ {"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}} ]},
  {"role":"tool","tool_call_id":"call_1","content":"42"},
  {"role":"function","name":"f","content":null,"function_call":{"name":"f","arguments":"{}"}}]`,
	"Odd": `[{"role":5,"content":7,"name":["x"],"created_at":"2026-01-01","id":12,"tool_calls":{"a":1},"depth":"x"},{},{"content":"a","content":"b","Role":"user"}]`,
}

func looksOnly[M any](context.Context, Meta, NoSubject, []M) (*[]M, error) { return nil, nil }

func same[M any](_ context.Context, _ Meta, _ NoSubject, v []M) (*[]M, error) { return &v, nil }

func passes[M any](t *testing.T, point *TransformPoint[NoSubject, []M], history string) {
	t.Helper()
	r := tidy(t, NewRegistry(Options{}))
	point.On(r, looksOnly[M])
	point.On(r, same[M])
	if _, err := r.OnDocument(point.Kind(), func(_ context.Context, d Document) (*Reply, error) {
		h, err := payloadAs[struct {
			Messages JSON `json:"messages"`
		}](d)
		if err != nil || h.Messages != compact(t, history) {
			t.Errorf("a document has %s, %v", h.Messages, err)
		}
		return &Reply{Patch: h.Messages}, nil
	}); err != nil {
		t.Fatal(err)
	}
	var in []M
	if err := JSON(history).Decode(&in); err != nil {
		t.Fatal(err)
	}
	out := point.Dispatch(t.Context(), r, somewhere, NoSubject{}, in)
	if got, err := Marshal(out.Value); err != nil || got != compact(t, history) || out.Err != nil {
		t.Errorf("got %s, %v, %v\nwant %s", got, err, out.Err, compact(t, history))
	}
	r2 := tidy(t, NewRegistry(Options{}))
	point.On(r2, same[M])
	shown, err := r2.DispatchDocument(t.Context(), Document{Point: point.Kind(), Payload: JSON(`{"messages":` + history + `}`)})
	if err != nil || string(shown.Value) != history {
		t.Errorf("shown %s, %v\nwant %s", shown.Value, err, history)
	}
}

func compact(t testing.TB, text string) JSON {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return JSON(b.String())
}

//guarantee:history-kept
func TestHistory_PassesUnchanged(t *testing.T) {
	for name, history := range histories {
		t.Run(name, func(t *testing.T) {
			passes(t, MessagesFilter, history)
			passes(t, LLMRequest, history)
		})
	}
	t.Run("mini-swe-agent", func(t *testing.T) {
		data, err := os.ReadFile(realdata.Path(t, "mini-swe-agent", "github_issue.traj.json"))
		if err != nil {
			t.Fatal(err)
		}
		passes(t, LLMRequest, strings.TrimSpace(string(data)))
	})
	t.Run("claude-code", func(t *testing.T) {
		n := 0
		err := filepath.WalkDir(realdata.Path(t, "claude-code"), func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".jsonl" || n > 600 {
				return err
			}
			messages := messagesOf(t, path)
			messages = messages[:min(len(messages), 40)]
			n += len(messages)
			passes(t, LLMRequest, "["+strings.Join(messages, ",")+"]")
			return nil
		})
		if err != nil || n < 500 {
			t.Errorf("%d messages, %v", n, err)
		}
	})
}

func messagesOf(t *testing.T, path string) (list []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var line struct {
			Message json.RawMessage `json:"message"`
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && bytes.HasPrefix(line.Message, []byte("{")) {
			list = append(list, string(line.Message))
		}
	}
	return list
}

// A hook that changes a field leaves all other members and their order.
func TestHistory_ChangesOnlyTheField(t *testing.T) {
	tests := []struct {
		in     string
		change func(*LLMMessage)
		want   string
	}{
		{`{"x":1.0,"content":"a","role":"user"}`, func(m *LLMMessage) { m.Content = new("b <") }, `{"x":1.0,"content":"b <","role":"user"}`},
		{`{"role":"user","content":[{"type":"text"}],"x":{}}`, func(m *LLMMessage) { m.Parts = `[]` }, `{"role":"user","content":[],"x":{}}`},
		{`{"role":"user","content":[1],"x":{}}`, func(m *LLMMessage) { m.Content = new("t") }, `{"role":"user","content":"t","x":{}}`},
		{`{"role":"a","name":"n","x":null}`, func(m *LLMMessage) { m.Name, m.ToolCallID = "", "c" }, `{"role":"a","x":null,"tool_call_id":"c"}`},
		{`{"role":5,"x":2}`, func(m *LLMMessage) { m.Role = "user" }, `{"role":"user","x":2}`},
		{`{"role":"a","role":"b"}`, func(m *LLMMessage) { m.Role = "c" }, `{"role":"c"}`},
		{`{"role":"a"}`, func(m *LLMMessage) { m.Raw = "" }, `{"role":"a","content":null}`},
		{`{"role":"a"}`, func(m *LLMMessage) { m.Raw, m.Parts = "", `[1]` }, `{"role":"a","content":[1]}`},
	}
	for _, tt := range tests {
		var m LLMMessage
		if err := JSON(tt.in).Decode(&m); err != nil {
			t.Fatal(err)
		}
		tt.change(&m)
		if got, err := Marshal(m); err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.in, got, err, tt.want)
		}
	}
}

func TestHistory_InvalidMessages(t *testing.T) {
	for _, bad := range []string{`5`, `null`, `[]`, `"x"`, `{`, `{"role":}`} {
		var m Message
		if err := m.UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("%s is a message", bad)
		}
	}
	for _, m := range []LLMMessage{{Parts: "["}, {Raw: "x"}, {Raw: "null"}, {ToolCalls: "{"}} {
		r := tidy(t, NewRegistry(Options{}))
		LLMRequest.On(r, func(context.Context, Meta, NoSubject, []LLMMessage) (*[]LLMMessage, error) {
			return &[]LLMMessage{m}, nil
		})
		out := LLMRequest.Dispatch(t.Context(), r, somewhere, NoSubject{}, []LLMMessage{{Role: "user"}})
		if out.Modified || len(out.Executions) != 1 || out.Executions[0].Error != string(ErrBadOutput) {
			t.Errorf("%+v: got %+v", m, out)
		}
	}
}

// A message of any object stays the same, and a changed field changes nothing else.
func FuzzHistory_Message(f *testing.F) {
	for _, history := range histories {
		var list []json.RawMessage
		if err := json.Unmarshal([]byte(history), &list); err != nil {
			f.Fatal(err)
		}
		for _, m := range list {
			f.Add(string(m))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		var m Message
		if JSON(text).Decode(&m) != nil {
			return
		}
		if got, err := Marshal(m); err != nil || got != compact(t, text) {
			t.Fatalf("got %s, %v, want %s", got, err, text)
		}
		m.Name += "x"
		got, err := Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var before, after map[string]any
		if JSON(text).Decode(&before) != nil || got.Decode(&after) != nil {
			t.Fatalf("got %s of %s", got, text)
		}
		after["name"] = before["name"]
		for name, value := range before {
			if a, _ := Marshal(value); name != "name" {
				if b, _ := Marshal(after[name]); a != b {
					t.Fatalf("%s became %s", text, got)
				}
			}
		}
	})
}
