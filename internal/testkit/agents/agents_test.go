package agents

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestInstall installs the agents, so that .ci/run can begin with that.
func TestInstall(t *testing.T) { Install(t) }

// Each protocol asks for the command of the turn after the results, and ends with a text.
func TestModel(t *testing.T) {
	for _, c := range []struct{ path, request, result string }{
		{
			"/v1/messages", `{"model":"m","stream":true,"tools":[{"name":"Bash"}],"messages":[{"role":"user","content":"go"}RESULT]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"no way"}]}`,
		},
		{
			"/v1/responses", `{"model":"m","tools":[{"type":"function","name":"exec_command"}],"input":[{"type":"message"}RESULT]}`,
			`{"type":"function_call_output","call_id":"c","output":"no way"}`,
		},
		{
			"/v1/chat/completions", `{"model":"m","stream":true,"tools":[{"function":{"name":"bash"}}],"messages":[{"role":"user"}RESULT]}`,
			`{"role":"tool","tool_call_id":"c","content":"no way"}`,
		},
		{
			"/v1beta/models/m:streamGenerateContent", `{"tools":[{"functionDeclarations":[{"name":"run_shell_command"}]}],"contents":[{"parts":[{"text":"go"}]}RESULT]}`,
			`{"parts":[{"functionResponse":{"name":"run_shell_command","response":{"error":"no way"}}}]}`,
		},
	} {
		began := 0
		m := NewModel(t, Turn{Command: "first", Before: func() { began++ }}, Turn{Command: "second"})
		ask := func(results int) string {
			request := strings.ReplaceAll(c.request, "RESULT", strings.Repeat(","+c.result, results))
			if !json.Valid([]byte(request)) {
				t.Fatal(request)
			}
			r, err := http.Post(m.URL+c.path, "application/json", bytes.NewReader([]byte(request)))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			text, err := io.ReadAll(r.Body)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		for results, want := range []string{"first", "second", LastWord} {
			for range 2 {
				if got := ask(results); !strings.Contains(got, want) {
					t.Errorf("%s after %d results: got %s, want %s", c.path, results, got, want)
				}
			}
		}
		if got := m.Results(); len(got) != 2 || !strings.Contains(got[0], "no way") || began != 1 {
			t.Errorf("%s: results %q after %d first calls, want two after one", c.path, got, began)
		}
	}
}
