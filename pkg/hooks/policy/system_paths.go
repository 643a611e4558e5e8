package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

var startFiles = strings.Fields(".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout " +
	".zshrc.d/ .bashrc.d/ .kshrc .cshrc .tcshrc .login .inputrc .xinitrc .xprofile .xsessionrc .pam_environment .vimrc .config/nvim/init.lua .emacs " +
	".config/fish/ .ssh/ .gnupg/ .aws/ .kube/ .gitconfig .config/git/ .gitconfig.d/ .config/autostart/ .config/systemd/ .config/environment.d/ " +
	"Library/LaunchAgents/ Library/LaunchDaemons/ .npmrc .yarnrc .yarnrc.yml .pypirc .pip/ .config/pip/ .pydistutils.cfg .cargo/config.toml " +
	".docker/config.json .claude/settings.json .claude/settings.local.json .claude.json .claude/hooks/ .codex/config.toml .codex/hooks/ .gemini/settings.json " +
	".cursor/ .config/opencode/ .copilot/ .hooktrail/ .config/hooktrail/ .local/bin/ bin/ .curlrc .wgetrc .netrc .sudo_as_admin_successful .config/PowerShell/ .config/powershell/")

// guardFiles are settings in a project that decide which programs an agent runs without asking the
// user.
var guardFiles = words(".claude/settings.json .claude/settings.local.json .codex/config.toml .codex/hooks.json .gemini/settings.json .cursor/hooks.json .opencode/opencode.json " +
	"opencode.json opencode.jsonc .git/config .git/info/attributes hooktrail.yaml hooktrail.yml .hooktrail/hooks.yaml .hooktrail.yaml")

var guardDirs = strings.Fields(".claude/hooks .codex/hooks .husky .github/hooks .opencode/plugin .opencode/plugins")

// isPluginDir lists directories from which an agent runs each file.
var isPluginDir = words(".github/hooks .opencode/plugin .opencode/plugins")

// agentDirs are the directories of a project with the hooks of agents.
var agentDirs = words(".claude .codex .gemini .opencode .cursor .github/hooks")

var systemDirs = strings.Fields("/etc /usr /bin /sbin /lib /lib32 /lib64 /boot /root /sys /proc /var /System /Library /Applications /opt /srv /private/etc /C:/Windows /dev")

var openDevices = strings.Fields("/dev/shm/ /dev/fd/ /dev/pts/")

func changesSystem(file shell.File, root string) finding {
	full := fullPath(file.Text, file.Dir)
	switch {
	case strings.HasPrefix(full, "/dev/tcp/"), strings.HasPrefix(full, "/dev/udp/"):
		return blocked("the shell opens a connection to another machine")
	case strings.Contains(full, shell.Hole):
		return unknownTarget(full)
	case !path.IsAbs(full):
		return changesGuard(full)
	}
	return changesAbsolute(full, file.Glob, root)
}

func changesAbsolute(full string, glob bool, root string) finding {
	if rest, ok := below(full, root); ok {
		return changesGuard(rest)
	}
	if isTemp(full) || isOpenDevice(full) {
		return finding{}
	}
	if rest, ok := inHome(full); ok {
		if f := changesHome(rest, glob); f.what != "" || !strings.HasPrefix(full, "/root/") {
			return f
		}
	}
	if full == "/" || inSystem(full) {
		return blocked("the file belongs to the system")
	}
	return finding{}
}

func isOpenDevice(full string) bool {
	return slices.ContainsFunc(openDevices, func(dir string) bool { return strings.HasPrefix(full, dir) })
}

func inSystem(full string) bool {
	return slices.ContainsFunc(systemDirs, func(dir string) bool {
		_, ok := below(full, dir)
		return ok
	})
}

func changesHome(rest string, glob bool) finding {
	if listed(startFiles, rest) || glob && globs(rest, startFiles) {
		return blocked("the file decides what runs at login, or guards the agent")
	}
	return changesGuard(rest)
}

func unknownTarget(full string) finding {
	tail := full[strings.LastIndex(full, shell.Hole)+1:]
	if listed(startFiles, strings.TrimPrefix(tail, "/")) && strings.HasPrefix(tail, "/.") {
		return blocked("the file decides what runs at login, or guards the agent")
	}
	return finding{}
}

func globs(pattern string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

func changesGuard(rest string) finding {
	if rest == ".git/hooks" || strings.HasPrefix(rest, ".git/hooks/") || strings.Contains(rest, "/.git/hooks/") {
		if !strings.HasSuffix(rest, ".sample") {
			return blocked("a git hook runs with later git commands")
		}
	}
	for _, dir := range guardDirs {
		if inner, ok := below(rest, dir); ok && (inner == "." || isPluginDir[dir]) {
			return doubted("the directory contains hooks that guard the project")
		}
	}
	for name := range guardFiles {
		if rest == name || strings.HasSuffix(rest, "/"+name) {
			return doubted("the file guards the agent")
		}
	}
	return finding{}
}

// removesGuard judges the removal of settings. The ordinary rules for writes ignore removals below
// the root.
func removesGuard(cmd shell.Command, root string) finding {
	args := cmd.Args
	switch cmd.Name {
	case "rm", "unlink", "rmdir", "shred", "remove-item":
	case "git":
		if len(args) == 0 || args[0].Text != "rm" {
			return finding{}
		}
		args = args[1:]
	default:
		return finding{}
	}
	var worst finding
	for _, a := range args {
		full := fullPath(a.Text, cmd.Dir)
		rest, ok := below(full, root)
		if !ok {
			rest = full
		}
		if path.IsAbs(rest) || strings.HasPrefix(a.Text, "-") {
			continue
		}
		if agentDirs[strings.TrimSuffix(rest, "/*")] {
			worst = worst.or(doubted("the directory contains hooks that guard the project"))
		}
		worst = worst.or(changesGuard(rest))
	}
	return worst
}
