package hookfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A command that begins with ./ or ../ is relative to its file, wherever the process runs.
func TestLoad_RelativeCommand(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "it's", "hooks dir")
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write("deny.sh", "#!/bin/sh\necho \"$1 $(pwd)\" >&2\nexit 2\n")
	write("../up.sh", "#!/bin/sh\necho \"$1 $(pwd)\" >&2\nexit 2\n")
	elsewhere := t.TempDir()
	t.Chdir(elsewhere)
	for _, command := range []string{"./deny.sh a", "./deny.sh a | cat", "[./deny.sh, a]", "../up.sh a", "[../up.sh, a]"} {
		write("hooks.yaml", "hooks:\n  PreToolUse:\n    - {type: command, name: it, command: "+quoted(command)+", timeout_ms: 30000}\n")
		f, err := Load(filepath.Join(folder, "hooks.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.CheckPrograms(); err != nil {
			t.Errorf("%s: %v", command, err)
		}
		out := dispatch(t, registerFile(t, f, Options{}), gitStatus)
		if strings.Contains(command, "|") {
			if x := one(t, out); !x.Success {
				t.Errorf("%s: got %+v", command, x)
			}
			continue
		}
		if got := out.Reason; out.Verdict != "deny" || got != "a "+elsewhere {
			t.Errorf("%s: got %s with %q", command, out.Verdict, got)
		}
	}
}

func quoted(command string) string {
	if strings.HasPrefix(command, "[") {
		return command
	}
	return `"` + command + `"`
}

func TestCheckPrograms(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "text"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "hooks.yaml")
	for command, missing := range map[string]bool{
		"./gone.sh": true, "./gone.sh --x; true": true, "[./gone.sh]": true, "../gone": true, "./text": true, "[./text]": true,
		"/does/not/exist x": true, "[hooktrail-no-such-program]": true, ".": false, "[sh, -c, ./gone]": true,
		"[sh, gone.sh]": false, "gone.sh": false, "A=./gone ./gone": false, "$HOME/gone": false, "test -x ./gone || exit 0": false, "/bin/sh -c true": false,
	} {
		text := "hooks:\n  PreToolUse:\n    - type: command\n      command: " + quoted(command) + "\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		err = f.CheckPrograms()
		if (err != nil) != missing || missing && !strings.HasPrefix(err.Error(), path+":4:16: PreToolUse[0].command: ") {
			t.Errorf("%s: got %v", command, err)
		}
	}
	if err := parse(t, "hooks:\n  PreToolUse:\n    - {type: command, command: ./gone, enabled: false}\n").CheckPrograms(); err != nil {
		t.Errorf("disabled: got %v", err)
	}
}
