package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func options(tb testing.TB) Options {
	tb.Helper()
	return Options{Project: tb.TempDir(), Home: tb.TempDir(), Program: "publisher", Timeout: 10 * time.Second}
}

func fileOf(tb testing.TB, tool string, opts Options) string {
	tb.Helper()
	t, err := named(tool)
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(opts.Project, t.project)
}

func write(tb testing.TB, file, text string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		tb.Fatal(err)
	}
}

func read(tb testing.TB, file string) string {
	tb.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

func apply(tb testing.TB, tool string, opts Options) *Change {
	tb.Helper()
	c, err := Plan(tool, opts)
	if err != nil {
		tb.Fatal(err)
	}
	if err := c.Apply(); err != nil {
		tb.Fatal(err)
	}
	return c
}

// settings are realistic configurations, with foreign hooks, comments, tabs, a single
// line, Windows line ends or hooks of an older version.
var settings = map[string]string{
	"Hooks": `{
  "model": "opus",
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Bash",
        "hooks": [{ "type": "command", "command": "./check.sh" }]
      }
    ],
    "Mine": []
  },
  "permissions": { "allow": ["Bash(go test:*)"] }
}
`,
	"Comments": "{\n\t// what I like\n\t\"theme\": \"dark\", /* really */\n\t\"hooks\": {\n\t\t\"PreToolUse\": [ // mine\n\t\t\t{\"hooks\": []}, // last\n\t\t],\n\t},\n}\n",
	"OneLine":  `{"theme":"dark","hooks":{"BeforeTool":[{"hooks":[{"type":"command","command":"x"}]}]}}`,
	"Trailing": "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [1]}, // mine\n]}}\n",
	"NoHooks":  "{\r\n    \"theme\": \"dark\" // no comma\r\n}\r\n",
	"Mark":     "\ufeff{\n  \"theme\": \"dark\"\n}",
	"Others":   "{\n  \"a\": \"publisher hook\",\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"my-publisher hook claude-code\"}]}\n    ]\n  }\n}\n",
}

// Installing keeps other settings. Installing again changes nothing, and uninstalling
// restores the file byte for byte.
//
//guarantee:install-foreign
func TestPlan_RoundTrip(t *testing.T) {
	for _, tool := range []string{"claude-code", "codex", "copilot-cli", "gemini-cli"} {
		for name, before := range settings {
			t.Run(tool+"/"+name, func(t *testing.T) {
				opts := options(t)
				file := fileOf(t, tool, opts)
				if tool == "copilot-cli" { // this tool needs a version member
					before = strings.Replace(before, "{", `{"version":1,`, 1)
				}
				write(t, file, before)
				if c := apply(t, tool, opts); c.Action() != Updated || c.Diff() == "" {
					t.Errorf("got %s", c.Action())
				}
				after := read(t, file)
				checkInstalled(t, tool, file, after)
				if c := apply(t, tool, opts); c.Action() != Unchanged || c.Diff() != "" {
					t.Errorf("installing again: %s\n%s", c.Action(), c.Diff())
				}
				opts.Uninstall = true
				if c := apply(t, tool, opts); c.Action() != Updated {
					t.Errorf("uninstalling: %s", c.Action())
				}
				if diff := cmp.Diff(before, read(t, file)); diff != "" {
					t.Errorf("after uninstalling (-want +got):\n%s\ninstalled was\n%s", diff, after)
				}
				if c := apply(t, tool, opts); c.Action() != Unchanged {
					t.Errorf("uninstalling again: %s", c.Action())
				}
			})
		}
	}
}

func checkInstalled(t *testing.T, tool, file, text string) {
	t.Helper()
	doc, err := parse(file, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	of, err := named(tool)
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range of.events {
		v := member(member(doc.root, hooksKey), event)
		if v == nil || len(oursOf(tool, "publisher").find(v)) != 1 {
			t.Errorf("%s: not there once in\n%s", event, text)
		}
	}
}

func TestPlan_NewFile(t *testing.T) {
	for _, tool := range Names() {
		t.Run(tool, func(t *testing.T) {
			opts := options(t)
			file := fileOf(t, tool, opts)
			if c := apply(t, tool, opts); c.Action() != Created || !strings.HasPrefix(c.Diff(), "--- /dev/null\n+++ "+file+"\n@@ -0,0 +1,") {
				t.Errorf("got %s\n%s", c.Action(), c.Diff())
			}
			if tool != "opencode" {
				checkInstalled(t, tool, file, read(t, file))
				if !json.Valid([]byte(read(t, file))) {
					t.Error("not JSON")
				}
			}
			opts.Uninstall = true
			if c := apply(t, tool, opts); c.Action() != Removed {
				t.Errorf("got %s", c.Action())
			}
			if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("still there: %v", err)
			}
			if c := apply(t, tool, opts); c.Action() != Unchanged {
				t.Errorf("uninstalling what is not there: %s", c.Action())
			}
		})
	}
}

func TestPlan_Entries(t *testing.T) {
	const open = " >/dev/null 2>&1 && publisher hook "
	tests := []struct{ tool, flags, event, want string }{
		{"claude-code", "", "PreToolUse", `{"hooks":[{"type":"command","command":"command -v publisher` + open + `claude-code; exit 0","timeout":10}]}`},
		{"codex", "--hooks /h.yaml", "PreToolUse", `{"hooks":[{"type":"command","command":"sh -c 'command -v publisher` + open + `codex --hooks /h.yaml; exit 0'","timeout":10}]}`},
		{"codex", "", "SessionEnd", `{"hooks":[{"type":"command","command":"sh -c 'command -v publisher` + open + `codex; exit 0'","timeout":3}]}`},
		{"gemini-cli", "", "BeforeTool", `{"hooks":[{"type":"command","command":"command -v publisher` + open + `gemini-cli; exit 0","timeout":10000}]}`},
		{"copilot-cli", "--fail-closed", "agentStop", `{"type":"command","bash":"command -v publisher` + open + `copilot-cli agentStop --fail-closed; exit 0","timeoutSec":10}`},
	}
	for _, tt := range tests {
		opts := options(t)
		opts.Flags = tt.flags
		apply(t, tt.tool, opts)
		var file struct {
			Version int
			Hooks   map[string][]json.RawMessage
		}
		if err := json.Unmarshal([]byte(read(t, fileOf(t, tt.tool, opts))), &file); err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if entries := file.Hooks[tt.event]; len(entries) == 1 {
			if err := json.Compact(&got, entries[0]); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(tt.want, got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.tool, diff)
		}
		if (file.Version == 1) != (tt.tool == "copilot-cli") {
			t.Errorf("%s: version %d", tt.tool, file.Version)
		}
	}
}

// Our hooks are replaced if flags, the path of the program or the events change.
// Foreign hooks in the same group stay.
func TestPlan_Replaces(t *testing.T) {
	opts := options(t)
	file := fileOf(t, "claude-code", opts)
	write(t, file, `{
  "hooks": {
    "PreToolUse": [
      {"hooks": [{"type": "command", "command": "./mine.sh"}, {"type": "command", "command": "'/old place/publisher' hook claude-code --fail-closed"}]}
    ],
    "Gone": [{"hooks": [{"type": "command", "command": "/usr/bin/publisher hook claude-code"}]}]
  }
}
`)
	opts.Flags = "--tenant acme"
	apply(t, "claude-code", opts)
	text := read(t, file)
	checkInstalled(t, "claude-code", file, text)
	for _, absent := range []string{"Gone", "/old place", "/usr/bin"} {
		if strings.Contains(text, absent) {
			t.Errorf("%q is still in\n%s", absent, text)
		}
	}
	if !strings.Contains(text, "./mine.sh") {
		t.Errorf("another's hook is gone:\n%s", text)
	}
	opts.Uninstall = true
	apply(t, "claude-code", opts)
	want := `{
  "hooks": {
    "PreToolUse": [
      {"hooks": [{"type": "command", "command": "./mine.sh"}]}
    ]
  }
}
`
	if diff := cmp.Diff(want, read(t, file)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

//guarantee:install-foreign
func TestPlan_Refuses(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"NoComma", "{\n  \"a\": 1\n  \"b\": 2\n}", "3:3: invalid character '\"' after object value (expecting ',' or '}')"},
		{"NoEnd", "{\n  \"a\": [1,\n", "3:1: parsing value: unexpected EOF"},
		{"NoValue", `{"a": nope}`, "1:7: invalid literal"},
		{"NoColon", `{"a" 1}`, "1:6: invalid character '1' after object name"},
		{"NoKey", `{a: 1}`, "1:2: invalid literal"},
		{"NoQuote", "{\"a\": \"b\n\"}", "1:7: invalid literal"},
		{"Comment", "{} /* a", "1:4: parsing comment: unexpected EOF"},
		{"Behind", `{} {}`, "1:4: invalid character '{' after top-level value"},
		{"Twice", `{"hooks": {}, "hooks": {}}`, "1:15: duplicate key"},
		{"List", `[]`, "1:1: an object is expected here"},
		{"Hooks", `{"hooks": []}`, `1:11: "hooks" is not an object`},
		{"Event", `{"hooks": {"PreToolUse": {}}}`, `1:26: the hooks of "PreToolUse" are not a list`},
		{"Comments", "// nothing\n", "2:1: parsing value: unexpected EOF"},
		{"Escape", `{"\x": 1}`, "1:2: invalid literal"},
		{"Secret", "{\n  \"key\": sk123\n}", "2:10: invalid literal"},
		{"Encoding", "{\"a\": \"\xff\"}", "1:8: not UTF-8"},
		{"Nested", `{"a":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "}", "1:206: nested too deeply"},
		{"TooDeep", strings.Repeat("[", maxNested+1), "1:1: more than 100000 lists and objects"},
		{"Deep", strings.Repeat("[", maxNested), "2:1: parsing value: unexpected EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			opts := options(t)
			file := fileOf(t, "claude-code", opts)
			write(t, file, tt.text)
			_, err := Plan("claude-code", opts)
			if err == nil || err.Error() != file+":"+tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if read(t, file) != tt.text {
				t.Error("the file was touched")
			}
		})
	}
}

func TestPlan_Plugin(t *testing.T) {
	opts := options(t)
	file := fileOf(t, "opencode", opts)
	write(t, file, "// mine\n")
	if _, err := Plan("opencode", opts); err == nil || !strings.Contains(err.Error(), "not written by this program") {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	opts.Flags = "--fail-closed"
	apply(t, "opencode", opts)
	text := read(t, file)
	for _, want := range []string{`const hook = "publisher hook opencode"`, `const flags = "--fail-closed"`, "const patience = 10000 ", "const failClosed = true"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	opts.Flags = ""
	if c := apply(t, "opencode", opts); c.Action() != Updated {
		t.Errorf("got %s", c.Action())
	}
}

func TestPlan_User(t *testing.T) {
	env := map[string]string{"CODEX_HOME": "/c", "XDG_CONFIG_HOME": "/x"}
	for tool, want := range map[string]string{
		"claude-code": "/h/.claude/settings.json", "codex": "/c/hooks.json", "copilot-cli": "/h/.copilot/hooks/hooktrail.json",
		"gemini-cli": "/h/.gemini/settings.json", "opencode": "/x/opencode/plugins/hooktrail.js",
	} {
		c, err := Plan(tool, Options{Home: "/h", Program: "publisher", Getenv: func(name string) string { return env[name] }})
		if err != nil || c.File != want {
			t.Errorf("%s: got %v, %v, want %s", tool, c, err, want)
		}
	}
	if _, err := Plan("emacs", options(t)); err == nil || !strings.Contains(err.Error(), "there are claude-code, codex") {
		t.Errorf("got %v", err)
	}
	if _, err := Plan("codex", Options{Project: "/does/not/exist"}); err == nil {
		t.Error("a missing project was accepted")
	}
}
