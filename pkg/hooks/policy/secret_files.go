package policy

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

// SecretFiles is the name of the preset that [NewSecretFiles] returns.
const SecretFiles = "secret-files"

// NewSecretFiles returns the preset secret-files. It denies reads of files with credentials,
// commands that print credentials, and requests that send environment variables. It asks about all
// other uploads.
func NewSecretFiles(opts Options) (hooks.PreToolUser, error) {
	return newGuard(guard{name: SecretFiles, title: "Access to secrets", script: leaks, read: readsSecret}, opts)
}

func readsSecret(file shell.File, _ string) finding {
	if isSecret(file) {
		return blocked("the file holds credentials")
	}
	return finding{}
}

func leaks(s *script) finding {
	worst := s.eachCommand(leaksBy)
	for _, file := range s.Reads {
		worst = worst.or(readsSecret(file, ""))
	}
	for _, code := range s.Code {
		worst = worst.or(codeLeaks(code, s.start))
	}
	if slices.ContainsFunc(s.Commands, showsUnknown) && showsVariable.MatchString(s.text) {
		worst = worst.or(doubted("a variable with a secret is shown"))
	}
	return worst.or(s.showsEnvironment())
}

func showsUnknown(cmd shell.Command) bool {
	switch cmd.Name {
	case "printenv":
		return true
	case "echo", "printf":
		return slices.ContainsFunc(cmd.Args, func(a shell.Word) bool { return !a.Known() })
	}
	return false
}

func (s *script) showsEnvironment() finding {
	if !slices.ContainsFunc(s.Commands, printsEnvironment) {
		return finding{}
	}
	switch {
	case slices.ContainsFunc(s.Commands, contactsOthers):
		return blocked("the environment goes into a request")
	case slices.ContainsFunc(s.Commands, sourcesSecret), len(s.Commands) == 1 && s.Commands[0].Name != "set":
		return doubted("the environment is shown")
	}
	return finding{}
}

func sourcesSecret(cmd shell.Command) bool {
	return (cmd.Name == "source" || cmd.Name == ".") && slices.ContainsFunc(cmd.Args, func(a shell.Word) bool {
		return isSecret(shell.File{Word: a, Dir: cmd.Dir})
	})
}

// Programs that do not show the content of the files in their arguments.
var lookers = words("ls stat test [ [[ chmod chown chgrp touch ssh-keygen ssh-add ssh mkdir rm rmdir unlink find fd du wc file echo printf git gh " +
	"basename dirname realpath readlink docker docker-compose podman source . cd pushd tree which export unset exit return ssh-copy-id " +
	"claude kubectl helm terraform ansible-playbook dotenv shred tee truncate ln")

var readers = words("cat tac head tail less more bat batcat nl base64 base32 xxd od hexdump strings grep egrep fgrep rg ag awk gawk mawk sed cut sort uniq " +
	"tar zip gzip bzip2 xz 7z scp sftp rsync curl wget nc ncat socat cp mv dd openssl vim vi nano emacs code python python3 jq yq diff " +
	"paste rev pr fold tr column iconv gpg zcat bzcat install type get-content gc pbcopy xclip http httpie ftp mail cmp split look view")

func leaksBy(cmd shell.Command, _ string) finding {
	if f := tableFinding(secretRules, cmd, "shows credentials"); f.what != "" {
		return f
	}
	if showsMore(cmd) {
		return blocked(cmd.Name + " shows credentials")
	}
	if sendsFile(cmd) || sendsValue(cmd) {
		return doubted(cmd.Name + " sends a file to another machine")
	}
	if f := passesSecret(cmd); f.what != "" || lookers[cmd.Name] {
		return f
	}
	return readsFiles(cmd)
}

// passesSecret judges programs that do not read a secret file, but let another command read it.
func passesSecret(cmd shell.Command) finding {
	switch cmd.Name {
	case "find":
		return findShows(cmd)
	case "ln":
		return linksSecret(cmd)
	}
	return finding{}
}

func findShows(cmd shell.Command) finding {
	runs := slices.IndexFunc(cmd.Args, func(a shell.Word) bool { return findRuns[a.Text] })
	if runs < 0 || runs+1 >= len(cmd.Args) || !readers[cmd.Args[runs+1].Text] {
		return finding{}
	}
	for i, a := range cmd.Args[:runs] {
		if findNames[a.Text] && isSecret(shell.File{Word: shell.Word{Text: cmd.Args[i+1].Text, Glob: true}, Dir: cmd.Dir}) {
			return blocked("find shows files that hold credentials")
		}
	}
	return finding{}
}

func linksSecret(cmd shell.Command) finding {
	args := options(cmd.Args).operands
	if len(args) < 2 || namesSecret(args[len(args)-1], cmd.Dir) {
		return finding{}
	}
	if slices.ContainsFunc(args[:len(args)-1], func(a shell.Word) bool { return namesSecret(a, cmd.Dir) }) {
		return doubted("ln gives a file that holds credentials another name")
	}
	return finding{}
}

var (
	findRuns  = words("-exec -execdir -ok -okdir")
	findNames = words("-name -iname -path -ipath -wholename")
)

func readsFiles(cmd shell.Command) finding {
	args := cmd.Args
	if copies[cmd.Name] && len(args) > 1 {
		args = args[:len(args)-1] // the destination
	}
	pattern := -1 // the index of the pattern that cmd searches for
	if searches[cmd.Name] {
		pattern = slices.IndexFunc(cmd.Args, func(a shell.Word) bool { return !strings.HasPrefix(a.Text, "-") })
	}
	for i := range args {
		if i == pattern || excluded(cmd.Args, i) || !namesSecret(args[i], cmd.Dir) {
			continue
		}
		if readers[cmd.Name] {
			return blocked(cmd.Name + " reads a file that holds credentials")
		}
		return doubted(cmd.Name + " uses a file that holds credentials")
	}
	if readers[cmd.Name] && !uses[cmd.Name] && slices.ContainsFunc(args, func(a shell.Word) bool { return maybeSecret(a.Text) }) {
		return doubted(cmd.Name + " reads a file that can hold a private key")
	}
	return finding{}
}

var copies = words("cp mv install")

// uses lists programs that often use a private key without printing the key, such as curl.
var uses = words("curl cp mv openssl install wget http")

func namesSecret(a shell.Word, dir string) bool {
	return slices.ContainsFunc(namesIn(a), func(w shell.Word) bool { return isSecret(shell.File{Word: w, Dir: dir}) })
}

func excluded(args []shell.Word, i int) bool {
	return excludes(args[i].Text) || i > 0 && (excludes(args[i-1].Text) || patternOptions[args[i-1].Text])
}

func excludes(text string) bool {
	return strings.HasPrefix(text, "--exclude") || strings.HasPrefix(text, "--env-file")
}

var (
	patternOptions = words("-e -g --glob")
	searches       = words("grep egrep fgrep rg ag sed awk gawk mawk jq")
)

func namesIn(a shell.Word) []shell.Word {
	names := []shell.Word{a}
	for _, mark := range []string{"=", "@", ":"} {
		if i := strings.IndexAny(a.Text, mark); i >= 0 && i+1 < len(a.Text) {
			names = append(names, shell.Word{Text: homed(strings.TrimLeft(a.Text[i+1:], "@")), Glob: a.Glob})
		}
	}
	return names
}

func printsEnvironment(cmd shell.Command) bool {
	switch cmd.Name {
	case "printenv":
		return true
	case "env", "set":
		return len(cmd.Args) == 0
	case "export", "declare":
		return len(cmd.Args) == 1 && (cmd.Args[0].Text == "-p" || cmd.Args[0].Text == "-x")
	}
	return false
}

func contactsOthers(cmd shell.Command) bool {
	switch cmd.Name {
	case "curl", "wget", "http", "https", "xh", "invoke-webrequest", "iwr", "invoke-restmethod", "irm":
		return slices.ContainsFunc(cmd.Args, func(a shell.Word) bool { return isRemoteURL(a.Text) }) || !slices.ContainsFunc(cmd.Args, isLocal)
	case "nc", "ncat", "netcat", "socat", "telnet", "scp", "sftp", "ftp", "dig", "nslookup", "host", "mail", "sendmail", "ssh":
		return !slices.ContainsFunc(cmd.Args, isLocal)
	}
	return false
}

func isLocal(a shell.Word) bool {
	for _, host := range []string{"localhost", "127.0.0.1", "[::1]", "0.0.0.0", "host.docker.internal"} {
		if strings.Contains(a.Text, host) {
			return true
		}
	}
	return a.Text == "::1"
}

func isRemoteURL(text string) bool {
	u, err := url.Parse(strings.ReplaceAll(text, shell.Hole, "x"))
	return err == nil && u.Host != "" && !isLocal(shell.Word{Text: u.Host})
}

func sendsFile(cmd shell.Command) bool {
	if !contactsOthers(cmd) {
		return cmd.Name == "rclone" && leads(cmd.Args, []string{"copy"})
	}
	switch cmd.Name {
	case "curl", "wget":
		return slices.ContainsFunc(cmd.Args, func(a shell.Word) bool { return isOption(a.Text, uploads) || strings.Contains(a.Text, "=@") })
	case "nc", "ncat", "netcat", "telnet":
		args := optionTable{short: "wpsiqXx"}.sort(cmd.Args)
		return !args.has("zlh") && len(args.operands) > 1
	case "socat":
		return true
	case "scp":
		return len(cmd.Args) > 1 && strings.Contains(cmd.Args[len(cmd.Args)-1].Text, ":")
	}
	return false
}

const uploads = "-T* --upload-file @* -d@* --post-file* --body-file*"

var (
	asksNetwork      = regexp.MustCompile(`(?i)urlopen|requests\.(post|get|put)|httpx?\.|fetch\(|https?\.request|axios|Net::HTTP|LWP|curl_|socket|file_get_contents\(['"]http`)
	printsAll        = regexp.MustCompile(`print\((?:dict\()?os\.environ\)|console\.log\(process\.env\)|^\s*process\.env\s*$|stringify\(process\.env\)|puts ENV\b`)
	wholeEnvironment = regexp.MustCompile(`dict\(os\.environ|os\.environ\b[^\[.]|os\.environ\.(copy|items)|JSON\.stringify\(process\.env\)|process\.env\)|%ENV|ENV\.to_|getenv\(\)|\$_ENV|\$_SERVER`)
)

func codeLeaks(code, start string) finding {
	if asksNetwork.MatchString(code) && wholeEnvironment.MatchString(code) {
		return blocked("the environment goes into a request")
	}
	if printsAll.MatchString(code) {
		return doubted("code shows the environment")
	}
	for _, text := range shell.Literals(code) {
		if name := strings.TrimPrefix(text, "@"); !strings.ContainsAny(name, " \n") && looksLikePath(name) &&
			isSecret(shell.File{Word: shell.Word{Text: homed(name)}, Dir: start}) {
			return blocked("code names a file that holds credentials")
		}
	}
	for _, tail := range []string{"/.ssh/id_", "/.aws/credentials", "/.gnupg/", "/.netrc", "/etc/shadow"} {
		if strings.Contains(code, tail) {
			return blocked("code names a file that holds credentials")
		}
	}
	return finding{}
}

func looksLikePath(name string) bool { return strings.ContainsAny(name, "./~") }
