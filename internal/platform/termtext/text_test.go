package termtext

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCell(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"Short", "pin the linter", "pin the linter"},
		{"Lines", "two\nlines\r\n\tand\u0085more\u2028on ", "two lines and more on"},
		{"Control", "\x1b[2Jgone", `\x1b[2Jgone`},
		{"Fits", strings.Repeat("ü", maxCell), strings.Repeat("ü", maxCell)},
		{"Long", strings.Repeat("ü", maxCell+1), strings.Repeat("ü", maxCell-1) + "…"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Cell(test.text); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestTime(t *testing.T) {
	at := time.Date(2026, 3, 2, 10, 0, 0, 5, time.FixedZone("CET", 3600))
	if got, want := Time(at), "2026-03-02 09:00:00 UTC"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

//guarantee:text-hostile
func TestPrintable(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"Plain", "fix the tëst\n\tnow", "fix the tëst\n\tnow"},
		{"Escape", "\x1b]0;owned\a", `\x1b]0;owned\a`},
		{"Return", "safe\rforged", `safe\rforged`},
		{"Direction", "abc\u202edef", `abc\u202edef`},
		{"NoUTF8", "a\xffb", `a\ufffdb`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Printable(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("a\x1b[2Jb")
	f.Add("\xff\u2066")
	f.Fuzz(func(t *testing.T, s string) {
		once := Printable(s)
		if strings.IndexFunc(once, unsafeRune) >= 0 {
			t.Errorf("%q keeps a control character: %q", s, once)
		}
		if again := Printable(once); again != once {
			t.Errorf("%q changes again: %q", once, again)
		}
	})
}

func TestShellQuote(t *testing.T) {
	args := []string{"run", "show", "", "it's", "a b", "$HOME", "`id`", "a\nb", "x;y", "~", "*", "é", "plain-1./:=@%+,"}
	line := ShellQuote(args...)
	out, err := exec.CommandContext(t.Context(), "sh", "-c", "for a in "+line+`; do printf '%s\0' "$a"; done`).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if diff := cmp.Diff(args, got); diff != "" {
		t.Errorf("arguments that the shell reads from %s (-want +got):\n%s", line, diff)
	}
	if want := "run show"; !strings.HasPrefix(line, want) {
		t.Errorf("%s quotes what needs no quotes", line)
	}
}
