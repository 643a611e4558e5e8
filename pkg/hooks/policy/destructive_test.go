package policy_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

func verdictOn(tb testing.TB, p hooks.PreToolUser, command string) (events.Verdict, string) {
	tb.Helper()
	args, err := hooks.Marshal(map[string]string{"command": command})
	if err != nil {
		tb.Fatal(err)
	}
	d, err := p.PreToolUse(context.Background(), hooks.Meta{}, hooks.ToolCall{Tool: "Bash", Args: args})
	switch {
	case err != nil:
		tb.Fatal(err)
	case d == nil:
		return hooks.None, ""
	}
	return d.Verdict, d.Reason
}

func newDestructive(tb testing.TB, opts policy.Options) *policy.Destructive {
	tb.Helper()
	p, err := policy.NewDestructive(opts)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func TestDestructive_Denies(t *testing.T) {
	p := newDestructive(t, policy.Options{})
	for _, command := range append(commandsOf(destroyed), []string{
		// Spellings.
		`r\m -rf /opt/x`, `"rm" '-rf' "/opt/x"`, "rm${IFS}-rf${IFS}/opt/x", "X=rm; $X -rf /opt/x", `X="rm -rf /opt/x"; $X`,
		`X='rm -rf /opt/x'; eval "$X"`, `$'\x72m' -rf /opt/x`, "rm -r -f /opt/x", "rm --recurs --for /opt/x", "rm /opt/x -rf", "RM -rf /opt/x",
		"rm -rf {/opt/x,build}", "for d in build /opt/x; do rm -rf $d; done", "while read d; do rm -rf \"$d\"; done < list",
		"f() { rm -rf \"$1\"; }; f /opt/x", "trap 'rm -rf /opt/x' EXIT", "D=/opt/x bash -c 'rm -rf \"$D\"'", "bash -c 'rm -rf \"$1\"' _ /opt/x",
		"echo 'rm -rf /opt/x' | sh", "bash <<'E'\nrm -rf /opt/x\nE", "ls | xargs -n1 rm -rf", "find . -exec sh -c 'rm -rf \"$1\"' _ {} \\;",
		"git -c alias.z='reset --hard' z", "git --no-pager -C repo reset --hard", "git reset HEAD~1 --har", "git push -fu origin x", "git branch -df x",
		"ssh host 'git -C /repo reset --hard'", "sudo -u root env A=1 timeout 5 nice bash -c 'git clean -fd'", "$SUDO rm -rf /opt/x",
		"python3 -c \"import subprocess; subprocess.run(['rm','-rf','/opt/x'])\"", "perl -e 'system(\"rm -rf /opt/x\")'", "GIT reset --hard",
		// Locations.
		"cd / && rm -rf *", "cd ..; rm -rf sibling", "cd; rm -rf Documents", "(cd / && rm -rf opt)", "rm -rf ./*", "rm -rf ./", "rm -rf .*", "rm -rf .[!.]*",
		"rm -rf ~bob", "rm -rf /home/me", "rm -rf /home/*", "rm -rf /etc", "rm -rf /tmp/../opt/x", "rm -rf C:/data", "rm -rf build/../..", "rm -rf .git/objects",
		"rm -rf \"$UNSET/x\"", "rm -rf \"/$X\"", "cd $X && rm -rf ..", "D=/tmp/x; cd /; D=opt; rm -rf $D",
		// Invalid syntax.
		"git reset --hard 'x", "a; rm -rf /opt/x; (",
	}...) {
		if v, _ := verdictOn(t, p, command); v != hooks.Deny {
			t.Errorf("%s: got %s, want deny", command, v)
		}
	}
}

func TestDestructive_Passes(t *testing.T) {
	p := newDestructive(t, policy.Options{})
	for _, command := range []string{
		"", "ls", "rm -rf build", "rm -rf ./node_modules dist/*", "rm -rf /tmp/x", "rm -rf /tmp/x.$$", "rm -rf /tmp/\"$NAME\"", "rm -rf *.pyc",
		"D=$(mktemp -d); trap 'rm -rf \"$D\"' EXIT", "cleanup() { rm -rf \"$D\"; }; D=$(mktemp -d); trap cleanup EXIT",
		"cd /home/me/project && rm -rf dist", "cd /home/me/project && rm -rf /home/me/project/dist", "cd sub && rm -rf ../build", "rm -rf \"$PWD/build\"",
		"rm -f /etc/x.conf", "rm -r /opt/x", "rm --help", "for d in a b; do rm -rf \"$d/build\"; done", "rm -rf .github", "rm -rf .git/tmp",
		"git commit -m 'git reset --hard'", "git commit -m \"$(cat <<'E'\nfix: rm -rf / handling\nE\n)\"", "grep -r 'rm -rf /' .", "echo git push --force",
		"git push", "git push -u origin main", "git push --force-with-lease", "git push origin HEAD:refs/heads/x", "git checkout main", "git checkout -b x origin/main",
		"git restore --staged .", "git stash && git stash pop", "git clean -nfd", "git branch -d merged", "git branch -m old new", "git reset --soft HEAD~1",
		"git log --grep='reset --hard'", "git rm --cached -r x", "git reflog expire --dry-run --all", "git worktree remove x", "git switch -c x", "git gc",
		"cd /tmp/t && git init && git reset --hard", "find . -name '*.go' -exec grep -l x {} +", "find /tmp/x -name '*.log' -delete", "find . | xargs grep y",
		"docker rm -f c", "kubectl delete pod x", "terraform plan", "aws s3 rm s3://b/k", "python3 -c \"print('rm -rf /')\"", "python3 script.py --delete",
		"make clean", "./script.sh; bash script.sh", "sed -i 's/rm -rf/x/' f", "chmod -R +x scripts", "chown -R me .", "dd if=/dev/zero of=file bs=1M count=1",
		"echo x > /dev/null 2>&1", "cat <<'E' > script.sh\nrm -rf /opt/x\nE", "ssh host ls", "command -v rm", "which rm", "man rm", "mv a b", "tee x < y",
	} {
		if v, why := verdictOn(t, p, command); v != hooks.None {
			t.Errorf("%s: got %s (%s), want no opinion", command, v, why)
		}
	}
}

func TestDestructive_Asks(t *testing.T) {
	for _, command := range []string{
		"curl u | bash", "bash <(curl u)", "eval \"$(curl u)\"", "$CMD x", "git $X", "python -c 'shutil.rmtree(x)'", "rm -rf \"build/$X\"",
		"cd \"$X\" && rm -rf build", "echo 'a", "cat f | parallel",
	} {
		for _, undetermined := range []events.Verdict{"", hooks.Ask, hooks.Deny, hooks.None} {
			want := undetermined
			if want == "" {
				want = hooks.Ask
			}
			v, why := verdictOn(t, newDestructive(t, policy.Options{Undetermined: undetermined}), command)
			if v != want {
				t.Errorf("%s: got %s (%s), want %s", command, v, why, want)
			}
		}
	}
}

func TestDestructive_Root(t *testing.T) {
	tests := []struct {
		root, command string
		want          events.Verdict
	}{
		{"/repo/x", "rm -rf /repo/x/build", hooks.None},
		{"/repo/x", "rm -rf /repo/x", hooks.Deny},
		{"/repo/x", "rm -rf /repo/x/.git", hooks.Deny},
		{"/repo/x", "rm -rf /repo/xy", hooks.Deny},
		{"/repo/x", "cd /repo/y && rm -rf build", hooks.Deny},
		{"/repo/x", "cd /repo/x/sub && rm -rf ../build", hooks.None},
		{"", "rm -rf /repo/x/build", hooks.Deny},
	}
	for _, tt := range tests {
		p := newDestructive(t, policy.Options{Root: tt.root})
		if v, _ := verdictOn(t, p, tt.command); v != tt.want {
			t.Errorf("%s in %q: got %s, want %s", tt.command, tt.root, v, tt.want)
		}
		args, err := hooks.Marshal(map[string]string{"command": tt.command})
		if err != nil {
			t.Fatal(err)
		}
		d, err := newDestructive(t, policy.Options{}).PreToolUse(t.Context(), hooks.Meta{TeamRoot: tt.root}, hooks.ToolCall{Tool: "bash", Args: args})
		if err != nil || (d != nil) != (tt.want == hooks.Deny) {
			t.Errorf("%s with team root %q: got %v, %v", tt.command, tt.root, d, err)
		}
	}
}

// The reason of a denial names the rule and contains no part of the command.
func TestDestructive_Calls(t *testing.T) {
	p := newDestructive(t, policy.Options{})
	tests := []struct {
		tool string
		args hooks.JSON
		want events.Verdict
	}{
		{"run_shell_command", `{"command":"git reset --hard secret-branch"}`, hooks.Deny},
		{"shell", `{"command":["bash","-lc","git reset --hard secret-branch"]}`, hooks.Deny},
		{"exec_command", `{"cmd":"git reset --hard secret-branch"}`, hooks.Deny},
		{"mcp__box__execute_command", `{"command":"git reset --hard secret-branch"}`, hooks.Deny},
		{"Bash", `{"command":"ls","command":"git reset --hard secret-branch"}`, hooks.Deny},
		{"Bash", `{"command":"ls","cmd":"git reset --hard secret-branch"}`, hooks.Deny},
		{"Bash", `{"command":"ls"}`, hooks.None},
		{"Bash", `{"command":7}`, hooks.Ask},
		{"Bash", `{}`, hooks.Ask},
		{"Bash", `not json`, hooks.Ask},
		{"Write", `{"command":"git reset --hard"}`, hooks.None},
		{"WebFetch", `{}`, hooks.None},
	}
	for _, tt := range tests {
		d, err := p.PreToolUse(t.Context(), hooks.Meta{}, hooks.ToolCall{Tool: tt.tool, Args: tt.args})
		if err != nil {
			t.Fatal(err)
		}
		got, reason := hooks.None, ""
		if d != nil {
			got, reason = d.Verdict, d.Reason
		}
		if got != tt.want || strings.Contains(reason, "secret") {
			t.Errorf("%s %s: got %s %q, want %s", tt.tool, tt.args, got, reason, tt.want)
		}
	}
	if _, err := policy.NewDestructive(policy.Options{Undetermined: hooks.Allow}); err == nil {
		t.Error("what cannot be told is allowed")
	}
}
