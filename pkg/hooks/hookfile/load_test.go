package hookfile

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

func parse(t testing.TB, text string) *File {
	t.Helper()
	f, err := Parse("hooks.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func problems(t testing.TB, text string) []string {
	t.Helper()
	f, err := Parse("hooks.yaml", []byte(text))
	invalid, ok := errors.AsType[*InvalidError](err)
	if !ok || f != nil {
		t.Fatalf("got file %v, error %v, want an InvalidError and no file", f, err)
	}
	return strings.Split(invalid.Error(), "\n")
}

func TestParse(t *testing.T) {
	f := parse(t, `
hooks:
  PreToolUse:
    - {type: command, command: [audit, --fast, ""], timeout_ms: 250, on_failure: block, priority: -5, name: audit}
    - &rule
      type: matcher
      match: {tool: "Bash", args: {command: "rm *"}}
      action: block
      message: no
    - *rule
  tool.result:
    - {type: command, command: log.sh, async: true, enabled: false, when: failure}
  SessionStop:
    - {type: nats}
`)
	type hook struct {
		Event, Kind, Name string
		Type              Type
		Timeout           time.Duration
		OnFailure         hooks.FailureMode
		Priority, Line    int
		Async, Disabled   bool
		Command           []string
	}
	var got []hook
	for _, h := range f.Hooks {
		got = append(got, hook{h.Event, string(h.Point.Kind), h.Name, h.Type, h.Timeout, h.OnFailure, h.Priority, h.Line, h.Async, h.Disabled, h.command})
	}
	want := []hook{
		{"PreToolUse", "tool.before", "audit", CommandType, 250 * time.Millisecond, hooks.Block, -5, 4, false, false, []string{"audit", "--fast", ""}},
		{"PreToolUse", "tool.before", "PreToolUse[1]", MatcherType, 0, 0, 0, 5, false, false, nil},
		{"PreToolUse", "tool.before", "PreToolUse[2]", MatcherType, 0, 0, 0, 10, false, false, nil},
		{"tool.result", "tool.result", "tool.result[0]", CommandType, 0, 0, 0, 12, true, true, []string{"sh", "-c", "log.sh"}},
		{"SessionStop", "session.ended", "SessionStop[0]", NATSType, 0, 0, 0, 14, false, false, nil},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
	if len(f.Warnings) > 0 {
		t.Errorf("got warnings %v", f.Warnings)
	}
}

func TestTimeout(t *testing.T) {
	for _, value := range []string{"junk", "0", "-1", "1.5", "5s", "[]", "~", `""`, "99999999999999999999", "86400001"} {
		f := parse(t, "hooks:\n  PreToolUse:\n    - {type: command, command: x, timeout_ms: "+value+"}\n")
		if got := f.Hooks[0].Timeout; got != 5*time.Second {
			t.Errorf("timeout_ms: %s: got %v", value, got)
		}
		if len(f.Warnings) != 1 || f.Warnings[0].Line != 3 || f.Warnings[0].Column != 47 {
			t.Errorf("timeout_ms: %s: got warnings %v", value, f.Warnings)
		}
	}
}

func TestProblems(t *testing.T) {
	data, err := os.ReadFile("testdata/wrong.yaml")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/wrong.golden", []byte(strings.Join(problems(t, string(data)), "\n")+"\n"))
}

func TestNotYAML(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"Empty", "", "hooks.yaml:1:1: the file is empty; want hooks: or policies:"},
		{"OnlyComments", "# nothing\n", "hooks.yaml:1:1: the file is empty; want hooks: or policies:"},
		{"Null", "~", "hooks.yaml:1:1: the file: want keys and values, got nothing"},
		{"Open", "a: [1, 2", "hooks.yaml:2:1: not YAML: did not find expected ',' or ']'"},
		{"Tab", "hooks:\n\t- b", "hooks.yaml:2:1: not YAML: found character that cannot start any token"},
		{"Binary", "hooks: \n  é\x00", "hooks.yaml:2:4: a character that no YAML file can have; save it as UTF-8 text"},
		{"Latin1", "hooks: \xe9", "hooks.yaml:1:8: a character that no YAML file can have; save it as UTF-8 text"},
		{"TwoDocuments", "hooks: {}\n---\nhooks: {}\n", "hooks.yaml:2:1: a second document; everything belongs in one"},
		{"UnknownAnchor", "hooks: *x", "hooks.yaml:1:8: not YAML: unknown anchor 'x' referenced"},
		{"Cycle", "hooks: &x\n  PreToolUse: *x\n", "hooks.yaml:2:3: nested more than 64 levels deep"},
		{"Twice", "hooks: {}\nhooks: {}\n", `hooks.yaml:2:1: the file: "hooks" is there twice, first in line 1; keep one`},
		{"Merge", "hooks:\n  <<: {}\n", "hooks.yaml:2:3: hooks: merge keys are not read; write the keys out, or use an alias for a single value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff([]string{tt.want}, problems(t, tt.text)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLaughs(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 20; i++ {
		prev := "*a" + string(rune('a'+i-2))
		if i == 1 {
			prev = "*a0"
		}
		b.WriteString("k" + string(rune('a'+i)) + ": &a" + string(rune('a'+i-1)) + " [" + strings.Repeat(prev+", ", 10) + "]\n")
	}
	got := problems(t, b.String())
	if len(got) != 1 || !strings.Contains(got[0], "more than 100000 values") {
		t.Errorf("got %v", got)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, dir + "/none.yaml"} {
		if f, err := Load(path); err == nil || f != nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, %v", path, f, err)
		}
	}
}
