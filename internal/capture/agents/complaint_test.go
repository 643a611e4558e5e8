package agents

import (
	"strings"
	"testing"
)

func TestComplaintOf(t *testing.T) {
	const cat, ls = "cat: x: No such file or directory", "ls: cannot access 'x': No such file or directory"
	tests := []struct {
		name, command, output string
		want                  bool
	}{
		{"Plain", "cat x", cat, true},
		{"Path", "/bin/cat x", cat, true},
		{"PathInLine", "/bin/cat x", "/bin/" + cat, true},
		{"Among", "cat a x b", "text\n" + cat + "\nmore text", true},
		{"Quoted", `ls "x" -l`, ls, true},
		{"Escaped", `cat a\ b`, "cat: a b: Permission denied", true},
		{"Shell", "cd x", "/bin/bash: line 1: cd: x: No such file or directory", true},
		{"Python", "python3 tools/run.py", "python3: can't open file '/w/tools/run.py': [Errno 2] No such file or directory", true},
		{"NotFound", "frob", "bash: line 1: frob: command not found", true},
		{"NotFoundSh", "frob", "sh: 1: frob: not found", true},
		{"NotFoundZsh", "frob", "zsh:1: command not found: frob", true},
		{"NotFoundEval", "frob", "(eval):1: command not found: frob", true},
		{"Git", "git checkout x", "fatal: not a git repository (or any of the parent directories): .git", true},

		{"And", "cat x && ls", cat, true},
		{"AndThen", "ls && cat x", cat, true},
		{"PipeEnd", "echo x | cat x", cat, true},
		{"OrBoth", "ls x || cat x", ls + "\n" + cat, true},
		{"ListEnd", "ls; cat x", cat, true},
		{"Subshell", "(cd y; cat x)", cat, true},
		{"Block", "{ cat x; }", cat, true},
		{"Sudo", "sudo -n cat x", cat, true},
		{"Env", "env A=b cat x", cat, true},
		{"Time", "time cat x", cat, true},
		{"Login", `bash -lc "cat x"`, cat, true},

		{"PipeStart", "cat x | head", cat, false},
		{"Or", "cat x || true", cat, false},
		{"Then", "cat x; true", cat, false},
		{"Not", "! cat x", cat, false},
		{"Background", "cat x &", cat, false},
		{"Branch", "if cat x; then :; fi", cat, false},
		{"OtherProgram", "tail y", cat, false},
		{"OtherArgument", "cat y", cat, false},
		{"Printed", "cat errors.log", cat, false},
		{"PrintedNotFound", "cat errors.log", "bash: line 1: frob: command not found", false},
		{"NotAShell", "frob", "frob: command not found", false},
		{"Word", "make all", "error: x failed", false},
		{"Warning", "cat x", "cat: x: warning", false},
		{"MidLine", "cat x", "see cat: x: No such file or directory", false},
		{"ShellEnv", "zsh -lc ls", "/opt/homebrew/Library/Homebrew/cmd/shellenv.sh: line 18: /bin/ps: Operation not permitted", false},
		{"Unknown", "$CAT x", cat, false},
		{"NoShell", "cat 'x", cat, false},
		{"Empty", "", cat, false},
		{"Long", "cat x #" + strings.Repeat("x", maxJudgedCommand), cat, false},
		{"Far", "cat x", strings.Repeat("\n", maxJudgedLines) + cat, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if line, _ := complaintOf(tt.command, tt.output); (line != "") != tt.want {
				t.Errorf("got %q, want a complaint: %v", line, tt.want)
			}
		})
	}
}
