package shell

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"
)

// FuzzAnalyze checks that an analysis ends and is reproducible, and that a shell that runs the text
// has the same findings.
func FuzzAnalyze(f *testing.F) {
	for _, text := range []string{
		"ls", "a=1; b $a", "for i in a b; do rm -rf $i; done", "echo $(( $(x) ))", "a 'b", "sudo env -S 'A=1 b' c", "xargs -I{} sh -c 'x {}'",
		"f() { a \"$1\"; }; f b", "cat <<'E' | sh\na\nE", "parallel x {} ::: a b", "python -c 'os.system(\"a b\")'", "git -c alias.a='!b' a",
		"cd x && a || b", "case a in b) c;; esac", "echo {a,b}{1..3}", "\x00", "a\r\nb", "eval \"$x\"", "() { a; }", "function f g { a; }; g",
		"a[1]=2 b", "$'\\x41' b", "~x/y", "=a b", "coproc a { b; }", "(( a = 1 ))", "[[ a =~ b ]]", "<(a) >(b)", "while read x; do y $x; done < z",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Analyze(text)
		if diff := cmp.Diff(show(got), show(Analyze(text))); diff != "" {
			t.Fatalf("not the same again (-first +second):\n%s", diff)
		}
		quoted, err := syntax.Quote(text, syntax.LangBash)
		if err != nil || len(quoted) > MaxText/2 {
			return
		}
		wrapped := Analyze("bash -c -- " + quoted)
		if wrapped.Has(DoubtTooLarge) {
			return
		}
		if len(wrapped.Commands) == 0 || wrapped.Commands[0].Name != "bash" {
			t.Fatalf("the shell itself is not found: %q", show(wrapped))
		}
		wrapped.Commands = wrapped.Commands[1:]
		if diff := cmp.Diff(show(got), show(wrapped)); diff != "" {
			t.Fatalf("not the same inside of a shell (-outside +inside):\n%s", diff)
		}
	})
}

func BenchmarkAnalyze(b *testing.B) {
	for _, bb := range []struct{ name, text string }{
		{"Plain", "go test ./..."},
		{"Pipe", "cd /repo && git log --oneline -20 | grep -v merge | head -5"},
		{"Script", "set -e\nD=$(mktemp -d)\ntrap 'rm -rf \"$D\"' EXIT\nfor f in a b c; do\n  cp \"src/$f\" \"$D/\" || exit 1\ndone\nbash -c 'cd \"$1\" && make' _ \"$D\""},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Analyze(bb.text)
			}
		})
	}
}
