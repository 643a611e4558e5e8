package publisher

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient/hookclienttest"
	"github.com/hooktrail/hooktrail/internal/capture/install"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

func installs(t *testing.T, args ...string) (out installed, stderr string) {
	t.Helper()
	cmd := Command()
	var text, errs bytes.Buffer
	cmd.SetOut(&text)
	cmd.SetErr(&errs)
	status := cli.Execute(t.Context(), cmd, append([]string{"install", "--json"}, args...))
	if status != cli.ExitOK {
		return out, errs.String()
	}
	if err := json.Unmarshal(text.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return out, errs.String()
}

func TestInstall(t *testing.T) {
	project := t.TempDir()
	file := filepath.Join(project, ".claude", "settings.json")
	args := []string{"claude-code", "--project", project}
	if out, _ := installs(t, append(args, "--dry-run")...); out.Action != install.Created || !strings.Contains(out.Diff, "hook claude-code") || !out.DryRun {
		t.Errorf("got %+v", out)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("--dry-run wrote: %v", err)
	}
	for _, want := range []install.Action{install.Created, install.Unchanged} {
		if out, _ := installs(t, args...); out.Action != want || out.File != file {
			t.Errorf("got %+v, want %s", out, want)
		}
	}
	if out, _ := installs(t, append(args, "--uninstall")...); out.Action != install.Removed {
		t.Errorf("got %+v", out)
	}
}

// The hook command gets the flags and environment variables of install, with absolute paths.
func TestInstall_PassesOn(t *testing.T) {
	t.Setenv("HOOKTRAIL_TENANT", "fromenv")
	project := t.TempDir()
	t.Chdir(project)
	if err := os.WriteFile("my hooks.yaml", []byte(hookclienttest.NoRemoval), 0o600); err != nil {
		t.Fatal(err)
	}
	out, stderr := installs(t, "codex", "--project", ".", "--hooks", "my hooks.yaml", "--fail-closed", "--timeout", "20s",
		"--data-dir", "data", "--publisher", "https://h.example", "--no-redact")
	if stderr != "" {
		t.Fatal(stderr)
	}
	var settings struct {
		Hooks map[string][]struct {
			Hooks []struct {
				Command string
				Timeout int
			}
		}
	}
	data, err := os.ReadFile(out.File)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &settings); err != nil {
		t.Fatal(err)
	}
	got := settings.Hooks["PreToolUse"][0].Hooks[0]
	want := " hook codex --hooks '" + project + "/my hooks.yaml' --data-dir " + project + "/data --tenant fromenv --publisher https://h.example --timeout 20s --fail-closed --no-redact"
	line := strings.ReplaceAll(got.Command, `'\''`, `'`) // it is quoted once more, for sh -c
	if !strings.Contains(line, want+"; ") || got.Timeout != 25 {
		t.Errorf("got %+v, want …%s…", got, want)
	}
	if out.Note == "" {
		t.Error("nothing says that Codex asks to trust hooks")
	}
}

func TestInstall_Refuses(t *testing.T) {
	project := t.TempDir()
	broken := filepath.Join(project, ".gemini", "settings.json")
	if err := os.MkdirAll(filepath.Dir(broken), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(broken, []byte("{\n  oops\n}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ args, want string }{
		{"gemini-cli --project " + project, broken + ":2:3: invalid literal"},
		{"emacs", `unknown tool "emacs"; there are claude-code, codex, copilot-cli, gemini-cli, opencode`},
		{"codex --project /does/not/exist", "project /does/not/exist: not a folder"},
		{"codex --hooks /does/not/exist.yaml", "/does/not/exist.yaml does not exist"},
		{"codex --hooks " + broken, broken + ":"},
		{"codex --publisher nonsense", "--publisher: want an address"},
		{"codex --timeout -1s", "--timeout -1s: must be positive"},
	} {
		if _, stderr := installs(t, strings.Fields(tt.args)...); !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: got %s", tt.args, stderr)
		}
	}
}

// A pattern that cannot match any tool is not a silent guard.
func TestInstall_Warns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hooks.yaml")
	if err := os.WriteFile(file, []byte("hooks:\n  PreToolUse:\n    - {type: matcher, action: block, match: {tool: Wrtie}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr := installs(t, "codex", "--project", t.TempDir(), "--hooks", file, "--dry-run")
	if !strings.Contains(stderr, "did you mean") || strings.Count(stderr, "questionable") != 1 {
		t.Errorf("got %s", stderr)
	}
}

func TestIsGoRun(t *testing.T) {
	for path, want := range map[string]bool{
		"/tmp/go-build1550836143/b001/exe/publisher":      true,
		"/home/ann/.cache/go-build/5f/5f01ab-d/publisher": true,
		"/tmp/go-build1550836143/b001/publisher.test":     false,
		"/usr/local/bin/publisher":                        false,
		"/home/ann/exe/publisher":                         false,
		"/home/ann/src/hooktrail-d/publisher":             false,
		"/home/ann/go-builds/hooktrail/bin/publisher":     false,
	} {
		if got := isGoRun(path); got != want {
			t.Errorf("%s: got %v", path, got)
		}
	}
}
