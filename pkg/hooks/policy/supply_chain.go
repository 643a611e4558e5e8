package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

// SupplyChain is the name of the preset that [NewSupplyChain] returns.
const SupplyChain = "supply-chain"

// NewSupplyChain returns the preset supply-chain. It asks before an agent runs downloaded code,
// installs a package from outside a registry, or publishes a package.
func NewSupplyChain(opts Options) (hooks.PreToolUser, error) {
	return newGuard(guard{
		name: SupplyChain, title: "Foreign code or a publication", script: func(s *script) finding {
			if s.Dynamic() && slices.ContainsFunc(s.Commands, downloads) {
				return blocked("a download is run as code")
			}
			return runsDownload(s).or(s.eachCommand(publishes)).or(codeRunsDownload(s))
		},
	}, opts)
}

func downloads(cmd shell.Command) bool {
	switch cmd.Name {
	case "curl", "wget", "fetch", "iwr", "irm", "invoke-webrequest", "invoke-restmethod", "aria2c", "http", "xh", "lwp-request":
		return !slices.ContainsFunc(cmd.Args, isLocal) || slices.ContainsFunc(cmd.Args, func(a shell.Word) bool { return isRemoteURL(a.Text) })
	}
	return false
}

func runsDownload(s *script) finding {
	fetched := map[string]bool{}
	foreign := false // a repository or an archive was fetched
	for _, cmd := range s.Commands {
		switch {
		case foreign && ofProject(cmd):
			return doubted("a program of a repository or an archive that was just fetched is run")
		case len(fetched) > 0 && (fetched[fullPath(cmd.Path, cmd.Dir)] || runsFile(cmd, fetched)):
			return blocked("a download is run as code")
		case downloads(cmd):
			s.addFetched(cmd, fetched)
		case len(fetched) > 0 && unpackers[cmd.Name], cmd.Name == "git" && leads(cmd.Args, []string{"clone"}):
			foreign = true
		}
	}
	return finding{}
}

var unpackers = words("tar unzip gunzip")

func ofProject(cmd shell.Command) bool {
	return strings.HasPrefix(cmd.Path, "./") || cmd.Name == "make"
}

func (s *script) addFetched(cmd shell.Command, fetched map[string]bool) {
	for _, word := range writesOf(cmd) {
		fetched[fullPath(word.Text, cmd.Dir)] = true
	}
	for _, a := range cmd.Args {
		if isRemoteURL(a.Text) {
			fetched[fullPath(path.Base(a.Text), cmd.Dir)] = true
		}
	}
	for _, w := range s.Writes {
		if w.Text != "/dev/null" {
			fetched[fullPath(w.Text, w.Dir)] = true
		}
	}
}

var runners = words("bash sh zsh dash ksh fish python python3 python2 node perl ruby php source . deno bun lua pwsh powershell java installer dpkg rpm")

func runsFile(cmd shell.Command, fetched map[string]bool) bool {
	return runners[cmd.Name] && slices.ContainsFunc(cmd.Args, func(a shell.Word) bool {
		return !strings.HasPrefix(a.Text, "-") && fetched[fullPath(a.Text, cmd.Dir)]
	})
}

func codeRunsDownload(s *script) finding {
	for _, code := range s.Code {
		if s.Has(shell.DoubtCode) && asksNetwork.MatchString(code) {
			return blocked("a download is run as code")
		}
	}
	return finding{}
}

var publishRules = map[string][]remoteRule{
	"npm": npmRules, "pnpm": npmRules, "yarn": {{words: "publish"}, {words: "npm publish"}}, "bun": {{words: "publish"}}, "lerna": {{words: "publish"}},
	"twine": {{words: "upload"}}, "cargo": {{words: "publish"}, {words: "yank"}}, "gem": {{words: "push"}, {words: "yank"}}, "poetry": {{words: "publish"}}, "uv": {{words: "publish"}},
	"flit": {{words: "publish"}}, "hatch": {{words: "publish"}}, "docker": {{words: "push"}, {words: "buildx build", options: "--push"}, {words: "compose push"}, {words: "login"}}, "podman": {{words: "push"}},
	"helm": {{words: "push"}}, "vsce": {{words: "publish"}}, "ovsx": {{words: "publish"}}, "mvn": {{words: "deploy"}, {words: "clean deploy"}}, "gradle": {{words: "publish"}}, "gradlew": {{words: "publish"}},
	"gh":     {{words: "release create"}, {words: "gist create"}, {words: "secret set"}, {words: "extension install"}, {words: "ssh-key add"}, {words: "repo create", options: "--public"}, {words: "workflow run"}},
	"dotnet": {{words: "nuget push"}}, "nuget": {{words: "push"}}, "goreleaser": {{words: "release"}}, "semantic-release": {{}}, "skopeo": {{words: "copy"}}, "crane": {{words: "push"}, {words: "copy"}},
	"pypi": {{words: "upload"}}, "npx": {{words: "semantic-release"}, {words: "np"}},
	"apt-key": {{words: "add"}, {words: "adv"}}, "add-apt-repository": {{}}, "brew": {{words: "tap"}},
}

var npmRules = []remoteRule{
	{words: "publish"}, {words: "unpublish"}, {words: "deprecate"}, {words: "dist-tag add"}, {words: "access"}, {words: "owner add"}, {words: "token create"}, {words: "stage publish"},
}

func publishes(cmd shell.Command, _ string) finding {
	if !isTrial(cmd) {
		if f := tableFinding(publishRules, cmd, "publishes or adds a source"); f.what != "" {
			return doubted(f.what)
		}
	}
	return installsForeign(cmd).or(changesRelease(cmd))
}

func changesRelease(cmd shell.Command) finding {
	switch cmd.Name {
	case "npm", "pnpm", "yarn", "make", "just", "task", "bun":
		return runsRelease(cmd.Name, operandsOf(cmd))
	case "gh":
		if leads(cmd.Args, []string{"pr", "merge"}) && options(cmd.Args).exact("admin") {
			return doubted("gh pr merge --admin skips the checks of the project")
		}
	case "git":
		if leads(cmd.Args, []string{"remote", "set-url"}) {
			return doubted("git remote set-url changes where later pushes go")
		}
	case "go":
		if ops := operandsOf(cmd); len(ops) > 1 && ops[0] == "run" && strings.Contains(ops[1], "@") {
			return doubted("go run downloads and runs a program")
		}
	}
	return finding{}
}

func runsRelease(name string, ops []string) finding {
	switch {
	case len(ops) > 2 && ops[0] == "pkg" && ops[1] == "set" && strings.HasPrefix(ops[2], "scripts."):
		return doubted(name + " pkg set adds a script that runs later")
	case len(ops) > 1 && ops[0] == "run":
		ops = ops[1:]
	case name == "npm":
		return finding{}
	}
	if len(ops) > 0 && releases[ops[0]] {
		return doubted(name + " " + ops[0] + " publishes the project")
	}
	return finding{}
}

var releases = words("publish release deploy deploy:prod deploy:production release:publish deploy-prod prod")

var installers = map[string]map[string]bool{
	"pip": words("install download"), "pip3": words("install download"), "pipx": words("install run"), "uv": words("pip add tool"), "poetry": words("add"),
	"npm": words("i install add exec"), "pnpm": words("add i install dlx"), "yarn": words("add dlx"), "bun": words("add x install"), "npx": nil, "bunx": nil, "pnpx": nil, "uvx": nil,
	"gem": words("install"), "cargo": words("install add"), "deno": words("run install"), "go": nil, "easy_install": nil, "rpm": nil, "dnf": words("install"), "yum": words("install"),
	"code": nil, "apt": words("install"), "apt-get": words("install"), "brew": words("install"), "snap": words("install"), "conda": words("install"), "composer": words("require"), "kubectl": words("apply create"),
	"helm": words("install upgrade"), "docker": words("build"), "python": words("pip"), "python3": words("pip"), "terraform": words("init"),
}

var (
	sourceOptions = words("--index-url --extra-index-url -i --registry --git --source --from --find-links -f")
	skipOptions   = words("--trusted-host --allow-unauthenticated --force-yes --no-gpg-check --nogpgcheck --dangerous")
)

func installs(cmd shell.Command) bool {
	verbs, ok := installers[cmd.Name]
	if !ok || verbs == nil {
		return ok
	}
	ops := operandsOf(cmd)
	return slices.ContainsFunc(ops[:min(3, len(ops))], func(op string) bool { return verbs[op] })
}

func installsForeign(cmd shell.Command) finding {
	if !installs(cmd) {
		return finding{}
	}
	for i, a := range cmd.Args {
		name, value, has := strings.Cut(a.Text, "=")
		if !has && i+1 < len(cmd.Args) {
			value = cmd.Args[i+1].Text
		}
		operand := !strings.HasPrefix(a.Text, "-") && cmd.Name != "terraform"
		if skipOptions[name] || sourceOptions[name] && foreignSource(value) || operand && foreignSource(a.Text) {
			return doubted(cmd.Name + " installs code that comes from no registry")
		}
	}
	return finding{}
}

func foreignSource(text string) bool {
	for _, prefix := range []string{"git+", "git://", "http://", "https://", "ssh://", "git@", "github:", "gitlab:", "bitbucket:", "gist:"} {
		if strings.HasPrefix(text, prefix) || strings.Contains(text, "@"+prefix) || strings.Contains(text, " @ "+prefix) {
			return !isLocal(shell.Word{Text: text})
		}
	}
	return false
}
