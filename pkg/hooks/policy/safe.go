package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

// AskUnlessSafe is the name of the preset that [NewAskUnlessSafe] returns.
const AskUnlessSafe = "ask-unless-safe"

// NewAskUnlessSafe returns the preset ask-unless-safe. It asks about each shell command that is not
// known to be safe. A safe command only runs programs that change nothing, and writes only to
// temporary directories. With [Options.Undetermined], the preset can deny instead of asking.
func NewAskUnlessSafe(opts Options) (hooks.PreToolUser, error) {
	if opts.Undetermined == events.VerdictNone {
		return nil, fmt.Errorf("%s: undetermined %q: the preset would have no effect", AskUnlessSafe, events.VerdictNone)
	}
	return newGuard(guard{name: AskUnlessSafe, title: "Shell command", asks: true, script: notSafe}, opts)
}

func notSafe(s *script) finding {
	switch {
	case s.Dynamic():
		return doubted(string(s.Doubts[0]))
	case slices.ContainsFunc(loaders, func(name string) bool { return strings.Contains(s.text, name) }):
		return doubted("it changes how programs are found or loaded")
	case len(s.Code) > 0:
		return doubted("it runs code of another language")
	case len(s.Commands) == 0 && strings.TrimSpace(s.text) != "":
		return doubted("it starts no program that is known")
	case slices.ContainsFunc(s.written(), func(f shell.File) bool { return locate(f.Word, f.Dir, s.root) != locationTemp }):
		return doubted("it writes a file outside of temporary directories")
	}
	for _, cmd := range s.Commands {
		if !isSafe(cmd) {
			return doubted("it is not certain that " + cmd.Name + " with these arguments changes nothing")
		}
	}
	return leaks(s)
}

var safePrograms = map[string]string{
	"ls": "", "cat": "", "head": "", "tail": "", "wc": "", "echo": "", "printf": "-v", "pwd": "", "cd": "", "pushd": "", "popd": "", "true": "", "false": "", ":": "", "test": "", "[": "",
	"stat": "", "file": "", "du": "", "df": "", "basename": "", "dirname": "", "realpath": "", "readlink": "", "which": "", "type": "", "whoami": "", "id": "",
	"uname": "", "date": "-s --set", "uptime": "", "sleep": "", "seq": "", "grep": "", "egrep": "", "fgrep": "", "rg": "--pre", "cut": "", "tr": "", "nl": "", "tac": "", "rev": "",
	"paste": "", "join": "", "comm": "", "cmp": "", "diff": "", "column": "", "fold": "", "expand": "", "md5sum": "", "sha1sum": "", "sha256sum": "", "cksum": "", "xxd": "-r",
	"od": "", "hexdump": "", "strings": "", "jq": "", "sort": "-o --output --compress-program", "tree": "-o -R", "ps": "", "lsof": "", "pgrep": "", "free": "", "nproc": "", "arch": "", "groups": "",
	"exit": "", "return": "", "set": "", "shift": "", "wait": "", "break": "", "continue": "", "export": "", "local": "", "read": "", "unset": "", "command": "", "time": "", "timeout": "", "env": "", "nice": "", "xargs": "",
	"find": "-delete -fprint -fprint0 -fprintf -fls -ok -okdir", "less": "-o -O --log-file", "more": "", "man": "-P --pager -H", "locale": "", "tty": "", "mktemp": "", "sed": "-i --in-place -f --file", "bat": "--pager",
}

// loaders are variables that decide which code a program loads.
var loaders = strings.Fields("PATH= LD_ DYLD_ BASH_ENV= ENV= GIT_ PAGER= LESSOPEN= EDITOR= IFS= NODE_OPTIONS= PYTHON PERL5 RUBYOPT= PROMPT_COMMAND= PS4=")

var safeCommands = map[string][]string{
	"git":       strings.Fields("status log diff show blame shortlog describe rev-parse rev-list ls-files ls-tree cat-file grep merge-base name-rev reflog for-each-ref count-objects whatchanged cherry"),
	"go":        strings.Fields("version env list doc"),
	"npm":       strings.Fields("ls list outdated view root prefix"),
	"docker":    strings.Fields("ps images logs inspect version info"),
	"kubectl":   strings.Fields("get describe logs version explain api-resources top"),
	"gh":        {"pr list", "pr view", "pr diff", "pr checks", "pr status", "issue list", "issue view", "run list", "run view", "repo view", "release list", "release view", "auth status"},
	"helm":      strings.Fields("list ls status history version"),
	"cargo":     strings.Fields("tree metadata version"),
	"terraform": strings.Fields("version validate"),
	"brew":      strings.Fields("list info"), "pip": strings.Fields("list show freeze check"), "pip3": strings.Fields("list show freeze check"), "systemctl": strings.Fields("status is-active is-enabled list-units"),
	"node": {"--version", "-v"}, "python3": {"--version", "-V"}, "python": {"--version", "-V"}, "rustc": {"--version"}, "java": {"-version", "--version"}, "ruby": {"--version"},
}

var unsafeOptions = words("--output -o --exec --ext-diff --textconv --open-files-in-pager -O --upload-pack --raw -w --web expire delete fix -c --config-env --exec-path --paginate -p")

func isSafe(cmd shell.Command) bool {
	if strings.Contains(cmd.Path, "/") && !strings.HasPrefix(cmd.Path, "/bin/") && !strings.HasPrefix(cmd.Path, "/usr/bin/") {
		return false
	}
	unsafe, ok := safePrograms[cmd.Name]
	if !ok {
		return isSafeCommand(cmd)
	}
	for _, a := range cmd.Args {
		if unsafe != "" && strings.HasPrefix(a.Text, shell.Hole) || usesOption(a.Text, unsafe) {
			return false
		}
	}
	return cmd.Name != "sed" || safeSed(cmd.Args)
}

func isSafeCommand(cmd shell.Command) bool {
	for _, a := range cmd.Args {
		name, _, _ := strings.Cut(a.Text, "=")
		paged := cmd.Name == "git" && name == "-p"
		if unsafeOptions[name] && !paged || strings.HasPrefix(a.Text, shell.Hole) {
			return false
		}
	}
	return slices.ContainsFunc(safeCommands[cmd.Name], func(sub string) bool {
		words := strings.Fields(sub)
		return len(cmd.Args) >= len(words) && slices.EqualFunc(cmd.Args[:len(words)], words, func(a shell.Word, w string) bool { return a.Text == w })
	})
}

func usesOption(text, options string) bool {
	for opt := range strings.FieldsSeq(options) {
		switch {
		case text == opt, strings.HasPrefix(text, opt+"="):
			return true
		case len(opt) == 2 && len(text) > 1 && text[0] == '-' && text[1] != '-' && strings.IndexByte(text, opt[1]) > 0:
			return true
		}
	}
	return false
}

func safeSed(args []shell.Word) bool {
	for _, a := range args {
		if !strings.HasPrefix(a.Text, "-") {
			return !strings.ContainsAny(a.Text, "weWrR\x00")
		}
	}
	return false
}
