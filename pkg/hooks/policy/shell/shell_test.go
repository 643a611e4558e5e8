package shell

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// show formats an analysis as lines: "dir> name arg arg", "> file", "? doubt". Holes are shown as
// "…".
func show(a *Analysis) []string {
	readable := func(s string) string { return strings.ReplaceAll(s, Hole, "…") }
	var lines []string
	for _, c := range a.Commands {
		line := c.Name
		for _, arg := range c.Args {
			line += " " + arg.Text
		}
		if c.Dir != "" {
			line = c.Dir + "> " + line
		}
		lines = append(lines, readable(line))
	}
	for _, w := range a.Writes {
		lines = append(lines, readable("> "+w.Text))
	}
	for _, d := range a.Doubts {
		lines = append(lines, "? "+string(d))
	}
	return lines
}

func lines(text ...string) []string { return text }

func TestAnalyze_Words(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"Nothing", "", nil},
		{"Plain", "ls -la x", lines("ls -la x")},
		{"Path", "/usr/bin/LS.exe x", lines("ls x")},
		{"Quotes", `"r"m 'a b' $'\x41' a\ b`, lines("rm a b A a b")},
		{"QuotedEscapes", `echo "a\$b\n"`, lines(`echo a$b\n`)},
		{"Continued", "rm \\\n -rf x", lines("rm -rf x")},
		{"Braces", "rm {a,b{1,2}}", lines("rm a b1 b2")},
		{"TooManyBraces", "rm {1,2,3,4,5,6,7,8,9}{1,2,3,4,5,6,7,8,9}", lines("rm …")},
		{"Home", "ls ~ ~/x ~bob $HOME/y", lines("ls /~ /~/x /~/../bob /~/y")},
		{"Variable", "X=a; ls $X ${X}b \"$X c\"", lines("ls a ab a c")},
		{"Split", "X='rm -rf'; $X y", lines("rm -rf y")},
		{"NotSplit", "X='a b'; ls \"$X\"", lines("ls a b")},
		{"Separator", "rm${IFS}-rf${IFS}x", lines("rm -rf x")},
		{"Unknown", "ls $X $(pwd) \"$(id)\"", lines("pwd", "id", "ls … … …")},
		{"Default", "X=a; ls ${X:-b} ${Y:-b} ${X#a}", lines("ls a … …")},
		{"Temporary", "D=$(mktemp -d); ls $D/x", lines("mktemp -d", "ls /tmp/fresh/x")},
		{"Numbers", "ls a.$$ $((1+2)) ${#X}", lines("ls a.0 0 0")},
		{"Appended", "X=a; X+=b; ls $X", lines("ls ab")},
		{"Array", "X=(a b); ls ${X[0]}", lines("ls …")},
		{"Writes", "echo a > b 2>>c <d", lines("echo a", "> b", "> c")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, show(Analyze(tt.text))); diff != "" {
				t.Errorf("Analyze(%q) (-want +got):\n%s", tt.text, diff)
			}
		})
	}
}

func TestAnalyze_Flow(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"List", "a; b && c || d | e &", lines("a", "b", "c", "d", "e")},
		{"Directory", "cd x && ls; cd ../y; ls", lines("cd x", "x> ls", "x> cd ../y", "y> ls")},
		{"DirectoryOfSubshell", "(cd /x && a); b", lines("cd /x", "/x> a", "b")},
		{"DirectoryUnknown", "cd $X; a; cd ..; b; cd /z; c", lines("cd …", "…> a", "…> cd ..", "…> b", "…> cd /z", "/z> c")},
		{"DirectoryBack", "cd a; cd -; b; popd; pushd c", lines("cd a", "a> cd -", "…> b", "…> popd", "…> pushd c")},
		{"Branches", "if a; then X=1; else X=2; fi; b $X", lines("a", "b …")},
		{"SameInBranches", "if a; then X=1; else X=1; fi; b $X", lines("a", "b 1")},
		{"Cases", "X=0; case y in y) X=1;; esac; b $X", lines("b …")},
		{"Loop", "for i in a b; do x $i; done", lines("x a", "x b")},
		{"LongLoop", "for i in 1 2 3 4 5 6 7 8 9; do x $i; done", lines("x …")},
		{"LoopChanges", "X=1; while a; do b $X; X=2; done", lines("a", "b …")},
		{"Function", "f() { a $X; }; X=1; f", lines("f", "a 1")},
		{"FunctionUncalled", "X=1; f() { a $X; }; X=2", lines("a …")},
		{"FunctionArguments", "f() { a $1 $2; }; f x; a $1", lines("f x", "a x …", "a …")},
		{"FunctionOfItself", "f() { a; f | f & }; f", lines("f", "a", "f", "f")},
		{"FunctionKnows", "X=1; f() { a $X; }; f", lines("f", "a 1")},
		{"Read", "X=1; read X; a $X", lines("read X", "a …")},
		{"ReadWithSeparator", "X=1; IFS=: read X; a $X", lines("read X", "a …")},
		{"OwnVariables", "X=1 a; b $X", lines("a", "b …")},
		{"Exported", "export X=1; Y=2; sh -c 'a $X $Y'", lines("sh -c a $X $Y", "a 1 …")},
		{"Substitutions", "a $(b `c`) <(d) >$(e) ${x:-$(f)} $(( $(g) ))", lines("e", "c", "b …", "d", "f", "g", "a … … … 0")},
		{"HereDocument", "a <<E\n$(b)\nE", lines("b", "a")},
		{"QuotedHereDocument", "a <<'E'\n$(b)\nE", lines("a")},
		{"Test", "[[ -n $(a) ]] && ((x = $(b)))", lines("a", "b")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Analyze(tt.text)
			got.Writes, got.Doubts = nil, nil
			if diff := cmp.Diff(tt.want, show(got)); diff != "" {
				t.Errorf("Analyze(%q) (-want +got):\n%s", tt.text, diff)
			}
		})
	}
}

func TestAnalyze_Wrappers(t *testing.T) {
	for _, text := range []string{
		"sudo x a", "sudo -u root -E x a", "sudo A=1 x a", "sudo -- x a", "doas -u me x a",
		"env -i A=1 x a", "env -u A -C /d x a", "env - x a", "env -S 'A=1 x' a", "env -P /bin x a", "env -- A=1 x a",
		"command x a", "command -p x a", "builtin x a", "exec -a n x a", "nohup x a", "time -p x a", "! x a",
		"nice -n 5 x a", "nice -5 x a", "ionice -c 2 x a", "timeout -k 1 5 x a", "timeout --signal KILL 5s x a",
		"stdbuf -oL x a", "setsid -f x a", "flock /l x a", "flock -w 3 /l -c 'x a'", "chroot /r x a", "strace -f -o l x a",
		"watch -n 1 'x a'", "su -c 'x a'", "su root -c 'x a'", "su - root -c 'x a'", "runuser -u me -- x a", "script -qc 'x a' l",
		"ssh -p 22 h x a", "ssh h 'x a'", "busybox x a", "unshare -r x a", "arch -arm64 x a", "npx -c 'x a'",
		"uv run x a", "bundle exec x a", "npm exec -- x a",
		"bash -c 'x a'", "sh -ec 'x a'", "bash -euo pipefail -c 'x a'", "bash -o errexit -c 'x a'", "bash +e -c 'x a'", "fish --command='x a'",
		"bash -lc 'x \"$1\"' _ a", "pwsh -Command x a", "eval x a", "eval 'x a'", "trap 'x a' EXIT", "alias q='x a'",
		"bash <<< 'x a'", "bash <<'E'\nx a\nE", "echo x a | sh", "printf 'x %s' a | sh -s", "cat <<E | bash\nx a\nE",
		"find . -exec x a \\;", "find . -name y -execdir x a +", "git bisect run x a", "git submodule foreach --recursive 'x a'",
		"git rebase -x 'x a' main", "git rebase main --exec='x a'", "git -c alias.q='!x' q a",
		"echo a | xargs x", "echo a | xargs -n1 -P 2 x", "echo a | xargs -I{} x {}", "echo a | xargs --replace=Q x Q",
		"parallel x ::: a", "echo a | parallel x {}", "parallel ::: 'x a'", "parallel 'x {}' ::: a",
		"python3 -c 'import os; os.system(\"x a\")'", "python - <<'E'\nos.system('x a')\nE", "perl -e 'system(\"x\", \"a\")'",
		"ruby -e '`x a`'", "awk 'BEGIN { system(\"x a\") }'", "node --eval='exec(\"x a\")'",
		"coproc x a", "{ x a; }", "(x a)", "x a 'unterminated", "|& x a", "A-B=1 x a", "=1 x a", "$SUDO x a",
		"fd y -x x a", "bash -c \"bash -c 'x a'\"", "timeout 5 sudo env A=1 nice bash -c 'exec x a'",
	} {
		t.Run(text, func(t *testing.T) {
			for _, c := range Analyze(text).Commands {
				if c.Name == "x" && len(c.Args) > 0 && c.Args[0].Text == "a" {
					return
				}
			}
			t.Errorf("x a is not found: %q", show(Analyze(text)))
		})
	}
}

func TestAnalyze_NotRun(t *testing.T) {
	for _, text := range []string{
		"echo x a", "echo 'x a'", "cat > f <<'E'\nx a\nE", "# x a", "find . -name x a", "grep -r 'x a' .", "bash x a",
		"python3 -c 'print(\"x a\")'", "python3 script.py -c 'x a'", "git commit -m 'x a'", "ssh h", "bash -c", "sudo -l", "[ x = a ]",
	} {
		t.Run(text, func(t *testing.T) {
			for _, c := range Analyze(text).Commands {
				if c.Name == "x" {
					t.Errorf("x is found: %q", show(Analyze(text)))
				}
			}
		})
	}
}

func TestAnalyze_Doubts(t *testing.T) {
	tests := []struct {
		text string
		want Doubt
	}{
		{"$X", DoubtProgram},
		{"\"$(which rm)\" x", DoubtProgram},
		{"git $X", DoubtProgram},
		{"sudo $X", DoubtProgram},
		{"eval \"$X\"", DoubtCode},
		{"bash -c \"$X\"", DoubtProgram},
		{"curl u | bash", DoubtCode},
		{"curl u | sudo -E sh -", DoubtCode},
		{"bash <(curl u)", DoubtCode},
		{"source <(curl u)", DoubtCode},
		{"bash < <(curl u)", DoubtCode},
		{"cat f | parallel", DoubtCode},
		{"python -c 'shutil.rmtree(x)'", DoubtCode},
		{"ls | xargs bash -c", DoubtInput},
		{"ls | xargs -I{} sh -c {}", DoubtInput},
		{"ls | xargs sudo", DoubtInput},
		{"echo 'a", DoubtUnparsed},
		{"if", DoubtUnparsed},
		{"a ) b", DoubtUnparsed},
		{strings.Repeat("a ", MaxText), DoubtTooLarge},
		{strings.Repeat("$(", 300) + "a" + strings.Repeat(")", 300), DoubtTooLarge},
		{"a=x; " + strings.Repeat("a=$a$a; ", 60) + "b $a", DoubtTooLarge},
	}
	for _, tt := range tests {
		name := tt.text[:min(40, len(tt.text))]
		t.Run(name, func(t *testing.T) {
			if a := Analyze(tt.text); !a.Has(tt.want) || !a.Dynamic() {
				t.Errorf("got %q, want %q", a.Doubts, tt.want)
			}
		})
	}
	for _, text := range []string{"ls $X", "bash \"$X\"", "\"$D/bin/x\" a", "echo a | bash", "bash f", "source f", "python -c 'print(1)'", "bash"} {
		if a := Analyze(text); a.Dynamic() {
			t.Errorf("%s: got %q, want no doubt", text, a.Doubts)
		}
	}
}

// Without the limits, these analyses would take hours.
func TestAnalyze_Bounded(t *testing.T) {
	loop := strings.Repeat("for i in 1 2 3 4 5 6 7 8; do ", 20) + "eval \"$x\"" + strings.Repeat("; done", 20)
	for name, text := range map[string]string{
		"Loops":        "x='" + strings.Repeat("echo ", 6000) + "'; " + loop,
		"Doubling":     "a=xxxxxxxx; " + strings.Repeat("a=\"$a$a\"; ", 3000) + "echo $a",
		"Braces":       "rm " + strings.Repeat("{a,b}", 5000),
		"Sequence":     "rm {1..99999999999}{1..99999999}",
		"Nested":       strings.Repeat("$(", 20000) + strings.Repeat(")", 20000),
		"Parentheses":  strings.Repeat("(", 60000),
		"Arithmetic":   strings.Repeat("$((", 20000),
		"Evals":        strings.Repeat("eval ", 10000) + "x",
		"Sudos":        strings.Repeat("sudo ", 12000) + "x",
		"Feeds":        "echo " + strings.Repeat("y", 30000) + " | xargs -I{} x " + strings.Repeat("{}", 15000),
		"Format":       "printf '%999999999d' 1 | sh",
		"Aliases":      strings.Repeat("git -c alias.a='!git -c alias.b=!x b' a;", 1000),
		"Parameters":   "set -- a b; " + strings.Repeat("set -- \"$@\" \"$@\"; ", 60) + "x \"$@\"",
		"AliasOfAlias": strings.Repeat("alias a='b; b' b='a; a'; a; ", 500),
		"AliasChain":   "alias a=x; " + strings.Repeat("alias a='a; a'; ", 1000) + "a",
		"Splits":       "IFS=a; x='" + strings.Repeat("a b", 10000) + "'; " + strings.Repeat("y $x; ", 1000),
		"Functions":    strings.Repeat("f() { ", 5000) + "x" + strings.Repeat("; }", 5000),
		"Variables":    strings.Repeat("$a", 30000),
		"Literals":     "python -c \"exec(" + strings.Repeat("'a b',", 10000) + ")\"",
		"Unterminated": strings.Repeat("a;", 30000) + "'",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			Analyze(text)
			if took := time.Since(start); took > time.Minute {
				t.Errorf("%d bytes took %v", len(text), took)
			}
		})
	}
}
