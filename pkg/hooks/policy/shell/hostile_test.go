package shell

import (
	"slices"
	"strings"
	"testing"
)

func TestAnalyze_Hidden(t *testing.T) {
	for _, text := range []string{
		// Output of echo.
		`echo -ne 'x a' | sh`, `echo -en -E "x a" | bash`, `echo -e '\x78 a' | sh`, `echo '\0170 a' | sh`, `echo -e 'import os\nos.system("x a")' | python3`,
		// Standard input.
		"source /dev/stdin <<< 'x a'", ". /dev/fd/0 <<< 'x a'", "bash /dev/fd/0 <<< 'x a'", "bash /proc/self/fd//0 <<< 'x a'", "echo 'x a' | bash 3<f",
		// Word splitting.
		"IFS=,; c=x,a; $c", "IFS=_:; c=x_:a; $c",
		// Parameters of functions and scripts.
		`f() { x "$@"; }; f a`, `f() { x $*; }; f a`, `f() { "$@"; }; f x a`, `f() { shift; x "$@"; }; f b a`, "f() { shift; $1 a; }; f ls x",
		"f() { shift 2; $1 a; }; f ls ls x", "set -- x a; $1 $2", `set -eu -- x a; "$@"`, "set x a; $1 $2", `bash -c '"$@"' _ x a`,
		// Aliases and handlers.
		"shopt -s expand_aliases\nalias q=x\nq a", "alias q='b; x'; q a", "alias x='x -i'; x a", "trap -- 'x a' EXIT", "PAGER='x a' git log", "export GIT_SSH_COMMAND='x a'",
		"git -c core.sshCommand='x a' fetch", "git -c credential.helper='!x a' fetch", "fish -C 'x a'",
		// Syntax of other shells.
		"=x a", "- x a", "repeat 3 x a", "true; and x a", "not x a", "csh -c 'x a'", "tcsh -c 'x a'",
		// Wrappers.
		"pkexec --user me x a", "systemd-run --scope -p A=b x a", "fakeroot x a", "gosu me x a", "setpriv --reuid=1 x a", "wsl x a", "wsl -e x a",
		"fd y --exec=x a", "fd y -xx a",
	} {
		t.Run(text, func(t *testing.T) {
			found := func(c Command) bool { return c.Name == "x" && len(c.Args) > 0 && c.Args[0].Text == "a" }
			if got := Analyze(text); !slices.ContainsFunc(got.Commands, found) {
				t.Errorf("x a is not found: %q", show(got))
			}
		})
	}
}

// Facts that only a running shell knows cause a doubt.
func TestAnalyze_HiddenDoubts(t *testing.T) {
	for text, want := range map[string]Doubt{
		"/bin/r? a":                                DoubtProgram,
		"/bin/r[m] a":                              DoubtProgram,
		"sudo /???/x* a":                           DoubtProgram,
		"curl u | bash 3</dev/null":                DoubtCode,
		"bash /dev/fd/3 3<<< 'x a'":                DoubtCode,
		"exec 3<<< 'x a'; bash <&3":                DoubtCode,
		"coproc bash; echo x a >&${COPROC[1]}":     DoubtCode,
		"declare -n r=c; c=ls; r=x; $c a":          DoubtCode,
		"c=ls; printf -vc x; $c a":                 DoubtProgram,
		"c=ls; read -ac; $c a":                     DoubtProgram,
		"c=ls; echo x | read c; $c a":              DoubtProgram,
		"c=ls; while b; do $c a; read c; done":     DoubtProgram,
		"set -- ls; while b; do $1 a; shift; done": DoubtProgram,
		"IFS=$X; c=x,a; $c":                        DoubtProgram,
		"pwsh -EncodedCommand eAAgAGEA":            DoubtCode,
		"powershell.exe -NoProfile -enc eAAgAGEA":  DoubtCode,
		"bash --rcfile <(curl u) -i":               DoubtCode,
	} {
		if got := Analyze(text); !got.Has(want) {
			t.Errorf("%s: got %q, want %q", text, show(got), want)
		}
	}
	for _, text := range []string{
		"[ -f x ]", "[[ -f x ]]", "set -euo pipefail; ls", "ls 2>&1", "bash f 3<x", "read x <&3", "exec 3<&-", "echo 'a\\nb' | grep a",
		"pwsh -ExecutionPolicy Bypass -File f.ps1", "bash -lc 'ls $1' _ a", "alias ll='ls -l'", "EDITOR=vim git commit",
	} {
		if got := Analyze(text); got.Dynamic() {
			t.Errorf("%s: got %q, want no doubt", text, got.Doubts)
		}
	}
}

// The work on a command grows like its length, and never beyond the limit.
func TestAnalyze_Work(t *testing.T) {
	for _, tt := range []struct{ begin, repeat, end, close string }{
		{"", "env ", "ls", ""},
		{"", "sudo -u x ", "ls", ""},
		{"", "ssh h ", "ls", ""},
		{"", "for i in 1 2 3; do ", "ls", "; done"},
		{"", "while a; do ", "ls", "; done"},
		{"", "a=1 ", "; ls" + strings.Repeat("|ls", 500), ""},
		{"f() { ls; }; ", "f; ", "ls", ""},
		{"python -c '", `os.system("ls -l") ; `, "'", ""},
		{"cd " + strings.Repeat("a/", 2000), "; cat a b c", "", ""},
		{"", "x ", "", ""},
	} {
		work := func(n int) int {
			a := Analyze(tt.begin + strings.Repeat(tt.repeat, n) + tt.end + strings.Repeat(tt.close, n))
			return a.Work
		}
		short, long := work(1_000), work(2_000)
		most := maxWork + 40_000 // the last step can be a large one
		if short > most || long > most {
			t.Errorf("%q: work %d and %d", tt.repeat, short, long)
		}
		if a := Analyze(tt.begin + strings.Repeat(tt.repeat, 5_000) + tt.end); a.Work > most {
			t.Errorf("%q: work %d", tt.repeat, a.Work)
		}
	}
}
