package policy

import (
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

// SystemChanges is the name of the preset that [NewSystemChanges] returns.
const SystemChanges = "system-changes"

// NewSystemChanges returns the preset system-changes. It denies writes to system files and to files
// that run at the start of a shell or machine. It denies programs that start again later, commands
// that switch off protection, and containers with access to the machine.
func NewSystemChanges(opts Options) (hooks.PreToolUser, error) {
	return newGuard(guard{
		name: SystemChanges, title: "System change", write: changesSystem,
		script: func(s *script) finding {
			if s.Has(shell.DoubtRepeat) {
				return doubted("the same commands start again and again")
			}
			return s.eachCommand(changesMachine).or(hidesHistory(s))
		},
	}, opts)
}

func hidesHistory(s *script) finding {
	for _, part := range []string{
		"HISTFILE=/dev/null", "HISTSIZE=0", "HISTFILESIZE=0", "unset HISTFILE", "set +o history", "HUSKY=0", "HUSKY_SKIP", "SKIP=", "NODE_TLS_REJECT_UNAUTHORISED=0", "GIT_SSL_NO_VERIFY=1",
		"GIT_SSL_NO_VERIFY=true", "LD_PRELOAD=",
	} {
		if strings.Contains(s.text, part) && len(s.Commands) > 0 && !onlyText[s.Commands[0].Name] {
			return doubted("the history or the check of certificates is disabled, or programs are changed")
		}
	}
	return finding{}
}

var onlyText = words("echo grep rg git cat printf gh")

var later, guards, host = "starts a program again later", "disables a guard", "changes the machine"

var machineRules = func() map[string][]remoteRule {
	m := map[string][]remoteRule{
		"systemctl": {
			{words: "enable"},
			{words: "disable"},
			{words: "mask"},
			{words: "stop"},
			{words: "link"},
			{words: "edit"},
			{words: "restart", asks: true},
			{words: "start", asks: true},
			{words: "daemon-reload", asks: true},
			{words: "poweroff"},
			{words: "reboot"},
			{words: "halt"},
			{words: "isolate"},
			{words: "kill"},
			{words: "set-default"},
		},
		"launchctl": {{words: "load"}, {words: "bootstrap"}, {words: "submit"}, {words: "enable"}, {words: "unload"}, {words: "bootout"}, {words: "disable"}, {words: "remove"}},
		"ufw":       {{words: "disable"}, {words: "reset"}, {words: "allow", asks: true}, {words: "delete", asks: true}, {words: "default allow"}},
		"nft":       {{words: "flush"}, {words: "delete"}}, "iptables": {{options: "-F --flush -P --policy -D -X -I -A"}}, "ip6tables": {{options: "-F --flush -P --policy -D -X -I -A"}},
		"netsh": {{words: "advfirewall"}, {words: "firewall"}}, "firewall-cmd": {{options: "--permanent --panic-off --reload"}},
		"setenforce": {{}}, "aa-disable": {{}}, "aa-teardown": {{}}, "aa-complain": {{}}, "auditctl": {{options: "-e* -D"}}, "csrutil": {{words: "disable"}},
		"spctl": {{options: "--master-disable --global-disable"}}, "fdesetup": {{words: "disable"}}, "set-mppreference": {{}}, "tmutil": {{words: "disable"}, {words: "delete"}},
		"visudo": {{}}, "useradd": {{}}, "adduser": {{}}, "usermod": {{}}, "userdel": {{}}, "deluser": {{}}, "passwd": {{}}, "chpasswd": {{}}, "gpasswd": {{}},
		"groupadd": {{}}, "dscl": {{words: ". -create"}}, "chsh": {{}}, "update-rc.d": {{}}, "chkconfig": {{}}, "rc-update": {{words: "add"}, {words: "del"}},
		"schtasks": {{options: "/create /Create /delete /Delete"}}, "reg": {{words: "add"}, {words: "delete"}}, "sc": {{words: "create"}, {words: "stop"}, {words: "delete"}, {words: "config"}},
		"sysctl": {{options: "-w --write kernel.* net.* vm.* fs.*"}}, "apparmor_parser": {{options: "-R --remove"}}, "dmesg": {{options: "-C -c --clear"}}, "insmod": {{}}, "modprobe": {{}}, "rmmod": {{}}, "mount": {{options: "-o --bind --rbind -t -B"}, {words: "/dev/"}},
		"swapoff": {{}}, "kexec": {{}}, "shutdown": {{}}, "reboot": {{}}, "halt": {{}}, "poweroff": {{}}, "setcap": {{}}, "chattr": {{}}, "nsenter": {{}},
		"ssh-copy-id": {{}}, "ngrok": {{}}, "cloudflared": {{words: "tunnel"}}, "localtunnel": {{}}, "pm2": {{words: "startup"}, {words: "save"}}, "at": {{}}, "batch": {{}}, "loginctl": {{words: "enable-linger"}},
		"hooktrail": {{words: "hooks uninstall"}, {words: "uninstall"}, {words: "stop"}, {words: "hooks remove"}}, "journalctl": {{options: "--rotate --vacuum*"}},
		"claude": {{options: "--dangerously-skip-permissions"}}, "codex": {{options: "--dangerously-bypass-approvals-and-sandbox --yolo --full-auto"}}, "gemini": {{options: "--yolo -y"}},
		"update-alternatives": {{options: "--install --set"}}, "history": {{options: "-c -w -cw"}}, "chpst": {{}}, "timedatectl": {{words: "set-time"}}, "hostnamectl": {{words: "set-hostname"}},
		"defaults": {{words: "write com.apple.loginwindow"}}, "wevtutil": {{words: "cl"}}, "bcdedit": {{}}, "vssadmin": {{words: "delete"}},
	}
	return m
}()

func changesMachine(cmd shell.Command, root string) finding {
	if f := tableFinding(machineRules, cmd, host+" or "+guards); f.what != "" {
		return f
	}
	switch cmd.Name {
	case "kill", "pkill", "killall", "pgrep", "pidof":
		return endsGuards(cmd, operandsOf(cmd))
	case "chmod":
		return opensAccess(cmd, operandsOf(cmd), root)
	case "git":
		return configuresGit(cmd).or(removesGuard(cmd, root))
	case "npm", "pnpm", "yarn", "pip", "pip3":
		return configuresPackages(cmd, operandsOf(cmd))
	case "docker", "podman", "nerdctl", "docker-compose":
		return stopsGuard(cmd).or(entersHost(cmd, root))
	case "kubectl":
		return entersNode(cmd, operandsOf(cmd))
	}
	return startsLater(cmd).or(opensMachine(cmd)).or(removesGuard(cmd, root))
}

func stopsGuard(cmd shell.Command) finding {
	for _, verb := range []string{"stop", "kill", "rm"} {
		if f := endsGuards(cmd, nil); leads(cmd.Args, []string{verb}) && !f.unknown {
			return f
		}
	}
	return finding{}
}

func startsLater(cmd shell.Command) finding {
	args := options(cmd.Args)
	switch cmd.Name {
	case "crontab":
		if !args.has("l") {
			return blocked("crontab " + later)
		}
	case "service", "rc-service":
		if len(args.operands) > 1 && args.operands[1].Text != "status" {
			return blocked(cmd.Name + " " + host)
		}
	case "init", "telinit":
		if len(args.operands) > 0 && cmd.Path != "./init" {
			return blocked(cmd.Name + " " + host)
		}
	}
	return finding{}
}

func opensMachine(cmd shell.Command) finding {
	switch cmd.Name {
	case "unset":
		if slices.ContainsFunc(cmd.Args, func(a shell.Word) bool { return a.Text == "HISTFILE" }) {
			return blocked("unset HISTFILE " + guards)
		}
	case "nc", "ncat", "netcat", "socat":
		if givesShell(cmd.Args, options(cmd.Args).has("ec")) {
			return blocked(cmd.Name + " gives another machine a shell")
		}
	case "ssh":
		if options(cmd.Args).has("R") {
			return doubted("ssh -R gives another machine access to this one")
		}
	}
	return finding{}
}

func givesShell(args []shell.Word, runs bool) bool {
	return slices.ContainsFunc(args, func(a shell.Word) bool {
		return runs && strings.Contains(a.Text, "sh") || strings.HasPrefix(strings.ToLower(a.Text), "exec:")
	})
}

var guardNames = strings.Fields("hooktrail auditd falco osquery sysmon crowdstrike falcon-sensor sshd systemd clamd fail2ban")

func namesGuard(program, text string) bool {
	return slices.ContainsFunc(guardNames, func(name string) bool { return strings.Contains(text, name) }) ||
		program != "kill" && (text == "publisher" || strings.HasPrefix(text, "publisher "))
}

func endsGuards(cmd shell.Command, ops []string) finding {
	forced := slices.ContainsFunc(cmd.Args, func(a shell.Word) bool { return a.Text == "-9" || a.Text == "-KILL" })
	for _, a := range cmd.Args {
		text := strings.ToLower(a.Text)
		switch {
		case namesGuard(cmd.Name, text):
			return blocked(cmd.Name + " " + guards)
		case cmd.Name == "kill" && text == "-1" && len(cmd.Args) > 1:
			return blocked("kill -1 ends every process")
		case cmd.Name == "kill" && a.Open && forced:
			return doubted("kill -9 of processes that are only known when it runs")
		case text == "-u" && len(ops) < 2:
			return doubted(cmd.Name + " ends all processes of a user")
		}
	}
	return finding{}
}

func opensAccess(cmd shell.Command, ops []string, root string) finding {
	if len(ops) < 2 {
		return finding{}
	}
	mode := ops[0]
	switch {
	case len(mode) == 4 && strings.ContainsAny(mode[:1], "2467"), strings.Contains(mode, "+s"), strings.Contains(mode, "u=s"):
		return blocked("chmod lets a program run with the rights of its owner")
	case strings.HasSuffix(mode, "777"), mode == "a+rwx", mode == "+rwx", mode == "ugo+rwx":
		if args := options(cmd.Args); args.has("R") {
			return doubted("chmod -R lets every user change a tree")
		}
		for _, a := range cmd.Args {
			if l := locate(a, cmd.Dir, root); a.Text != mode && (l == locationOutside || l == locationCritical) {
				return doubted("chmod lets every user change a file outside of the project")
			}
		}
	}
	return finding{}
}

var riskyGitKeys = strings.Fields("core.hookspath core.fsmonitor core.sshcommand core.gitproxy credential. http.sslverify http.proxy url. init.templatedir " +
	"filter. diff.external gpg.program include. includeif. protocol. safe.directory receive.deny")

func configuresGit(cmd shell.Command) finding {
	for i, a := range cmd.Args {
		key, _, _ := strings.Cut(strings.ToLower(a.Text), "=")
		if i > 0 && cmd.Args[i-1].Text == "-c" && skipsChecks[key] {
			return doubted("git -c " + key + " " + guards)
		}
	}
	sub, rest := shell.Git(cmd.Args)
	switch sub {
	case "commit", "push", "merge", "am":
		args := optionTable{short: "mFCcS"}.sort(rest)
		if args.exact("no-verify") || sub == "commit" && args.has("n") {
			return doubted("git " + sub + " --no-verify skips the checks of the project")
		}
	case "config":
		return setsGit(rest)
	}
	return finding{}
}

var skipsChecks = words("core.hookspath http.sslverify commit.gpgsign")

func setsGit(args []shell.Word) finding {
	if slices.ContainsFunc(args, func(a shell.Word) bool { return isOption(a.Text, "--get* --list -l") }) {
		return finding{}
	}
	ops := operandsOf(shell.Command{Args: args})
	if len(ops) > 0 && ops[0] == "set" {
		ops = ops[1:]
	}
	if len(ops) < 2 || ops[0] == "get" {
		return finding{}
	}
	switch key, value := ops[0], ops[1]; {
	case strings.HasPrefix(value, "!"), key == "credential.helper":
		return doubted("git config adds a program that later git commands start")
	case key == "core.hookspath" && !strings.HasPrefix(value, "/") && !strings.HasPrefix(value, ".."):
		return finding{} // a directory of the project
	case slices.ContainsFunc(riskyGitKeys, func(risky string) bool { return strings.HasPrefix(key, risky) }):
		return blocked("git config " + key + " changes what later git commands start or check")
	}
	return finding{}
}

func configuresPackages(cmd shell.Command, ops []string) finding {
	if len(ops) > 2 && ops[0] == "config" && ops[1] == "set" {
		for _, key := range []string{"registry", "ignore-scripts", "strict-ssl", "global.index-url", "global.extra-index-url", "global.trusted-host", "script-shell", "audit", "//"} {
			if strings.HasPrefix(ops[2], key) {
				return doubted(cmd.Name + " config changes where packages come from")
			}
		}
	}
	return finding{}
}
