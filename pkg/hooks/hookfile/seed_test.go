package hookfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/wire"
)

var seedEvents = map[string]string{
	"PreToolUse":       `"tool":"Bash","args":{"command":"ls"}`,
	"PostToolUse":      `"tool":"Bash","args":{"command":"ls"},"result":{"out":"x"}`,
	"SessionStart":     `"from":"startup"`,
	"SessionStop":      `"reason":"done"`,
	"PromptSubmit":     `"prompt":"hello"`,
	"ResponseComplete": `"text":"hi"`,
	"Error":            `"error":"boom"`,
	"Checkpoint":       `"checkpoint":"c1"`,
	"ModelSwitch":      `"to":"small"`,
	"MemoryUpdate":     `"key":"k"`,
}

// TestSeed001 has a subtest for each acceptance criterion about configuration and runners.
func TestSeed001(t *testing.T) {
	t.Run("All10EventTypesImplemented", func(t *testing.T) {
		for event, fields := range seedEvents {
			got := filepath.Join(t.TempDir(), "got")
			r := register(t, commandHook(event, "cat > "+got), Options{})
			out := dispatch(t, r, fmt.Sprintf(`{"event":%q,"session_id":"s",%s}`, event, fields))
			if x := one(t, out); !x.Success {
				t.Errorf("%s: got %+v", event, x)
			}
			data, err := os.ReadFile(got)
			if err != nil || !strings.HasPrefix(string(data), `{"event":"`+event+`"`) {
				t.Errorf("%s: the hook got %s, %v", event, data, err)
			}
		}
	})
	t.Run("HookConfigurationInYAML", func(t *testing.T) {
		f, err := Load("testdata/example_seed.yaml")
		if err != nil || len(f.Hooks) != 7 || len(f.Warnings) > 0 {
			t.Fatalf("got %+v, %v", f, err)
		}
		if err := f.Register(hooks.NewRegistry(hooks.Options{}), Options{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("CommandHooksExecuteScriptsWithJSONIO", func(t *testing.T) {
		script := filepath.Join(t.TempDir(), "hook.sh")
		text := "#!/bin/sh\ngrep -q '\"tool\":\"Bash\"' && echo '{\"action\": \"block\", \"modified_args\": null, \"message\": \"seen\"}'\n"
		if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		out := dispatch(t, register(t, commandHook("PreToolUse", script), Options{}), gitStatus)
		if out.Verdict != hooks.Deny || out.Reason != "seen" {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("MatcherHooksSupportGlobPatterns", func(t *testing.T) {
		r := register(t, "hooks:\n  PreToolUse:\n    - {type: matcher, match: {tool: 'Wr*', args: {path: '**/.env*'}}, action: block, message: no}\n", Options{})
		for path, want := range map[string]hooks.Verdict{".env": hooks.Deny, "a/b/.env.local": hooks.Deny, "env.txt": hooks.None} {
			if out := dispatch(t, r, `{"event":"PreToolUse","tool":"Write","args":{"path":"`+path+`"}}`); out.Verdict != want {
				t.Errorf("%s: got %+v", path, out)
			}
		}
	})
	t.Run("LLMHooksCallFastModels", func(t *testing.T) {
		out := dispatch(t, judged(t, newModel(t, `{"safe": false, "reason": "no"}`)), gitStatus)
		if out.Verdict != hooks.Deny || out.Reason != "no" {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("HooksBlockAllowModify", func(t *testing.T) {
		for answer, want := range map[string]string{
			`{"action":"block","message":"m"}`: `deny m {"command":"git status"}`, `{"action":"allow"}`: `allow  {"command":"git status"}`,
			`{"action":"modify","modified_args":{"command":"true"}}`: `none  {"command":"true"}`,
		} {
			out := dispatch(t, register(t, commandHook("PreToolUse", "echo '"+answer+"'"), Options{}), gitStatus)
			if got := fmt.Sprintf("%s %s %s", out.Verdict, out.Reason, out.Args); got != want {
				t.Errorf("%s: got %s, want %s", answer, got, want)
			}
		}
	})
	t.Run("AsyncHooksFireWithoutBlocking", asyncDoesNotBlock)
	t.Run("TimeoutHandlingForSlowHooks", func(t *testing.T) {
		file := strings.Replace(commandHook("PreToolUse", "sleep 60"), "timeout_ms: 30000", "timeout_ms: 100", 1)
		began := time.Now()
		x := one(t, dispatch(t, register(t, file, Options{}), gitStatus))
		if !x.TimedOut || time.Since(began) > 30*time.Second {
			t.Errorf("got %+v after %v", x, time.Since(began))
		}
	})
	t.Run("HookFailuresDoNotCrashTheSession", func(t *testing.T) {
		r := register(t, `
hooks:
  PreToolUse:
    - {type: command, command: "exit 7"}
    - {type: command, command: [/does/not/exist]}
    - {type: nats}
    - {type: http, url: "http://127.0.0.1:1/"}
    - {type: matcher, action: allow, when: 'args.a.b.c == 1'}
    - {type: matcher, action: ask, match: {tool: Bash}, message: last}
`, Options{})
		out := dispatch(t, r, gitStatus)
		if len(out.Executions) != 6 || out.Verdict != hooks.Ask || out.Reason != "last" {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("HooksReceiveFullContext", func(t *testing.T) {
		got := filepath.Join(t.TempDir(), "got")
		dispatch(t, register(t, commandHook("PreToolUse", "cat > "+got), Options{}), gitStatus)
		data, err := os.ReadFile(got)
		if err != nil {
			t.Fatal(err)
		}
		want := `{"event":"PreToolUse","point":"tool.before","tool":"Bash","args":{"command":"git status"},"session_id":"abc123","timestamp":"2024-01-15T10:30:00Z",` +
			`"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"git status"}}`
		if string(data) != want {
			t.Errorf("got %s, want %s", data, want)
		}
	})
}

func asyncDoesNotBlock(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "go")
	done := fifo + ".done"
	command := fmt.Sprintf("while [ ! -e %s ]; do :; done; echo done > %s", fifo, done)
	r := hooks.NewRegistry(hooks.Options{})
	if err := parse(t, commandHook("PostToolUse", command, "async: true")).Register(r, Options{}); err != nil {
		t.Fatal(err)
	}
	d, err := wire.Parse([]byte(`{"event":"PostToolUse","tool":"Bash","args":{},"result":{"ok":true}}`))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := r.DispatchDocument(t.Context(), d); err != nil || len(out.Executions) > 0 {
		t.Fatalf("got %+v, %v", out, err)
	}
	if err := os.WriteFile(fifo, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(done); err != nil || string(data) != "done\n" {
		t.Errorf("got %q, %v", data, err)
	}
}
