package policy

import (
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

type finding struct {
	what    string
	unknown bool // the effect is possible but not certain
}

type rule func(cmd shell.Command, root string) finding

var rules = map[string]rule{
	"rimraf": removesAll, "trash": removesAll, "srm": removesAll, "wipe": removesAll, "rsync": mirrorsAway,
	"rm": removes, "find": findDeletes, "git": gitDestroys,
	"remove-item": removesItem, "ri": removesItem, "rd": removesDirectory, "rmdir": removesDirectory, "del": removesDirectory,
	"dd": overwritesDevice, "tee": overwritesDevice, "cp": overwritesDevice,
	"shred":      always("shred makes files unrecoverable"),
	"wipefs":     always("wipefs erases file systems"),
	"blkdiscard": always("blkdiscard erases a device"),
	"mkfs":       always("mkfs erases a device"),
	"mkswap":     always("mkswap erases a device"),
	"chmod":      changesTree, "chown": changesTree, "chgrp": changesTree,
	"mv": movesAway,
}

func always(what string) rule {
	return func(shell.Command, string) finding { return finding{what: what} }
}

func destruction(s *script) finding {
	if s.Has(shell.DoubtInput) {
		return finding{what: "input is run as code"}
	}
	var worst finding
	for _, cmd := range s.Commands {
		f := judge(cmd, s.root)
		if f.what != "" && !f.unknown {
			return f
		}
		worst = worst.or(f)
	}
	for _, code := range s.Code {
		worst = worst.or(codeDestroys(code, s.start, s.root))
	}
	for _, r := range s.Reads {
		if isRiskyScript(r.Text) {
			worst = worst.or(doubted("the name of the script says that it removes data"))
		}
	}
	for _, w := range s.Writes {
		if isDevice(w.Text) {
			return finding{what: "output overwrites a device"}
		}
	}
	return worst
}

func judge(cmd shell.Command, root string) finding {
	if asksForHelp(cmd) {
		return finding{}
	}
	name := cmd.Name
	if strings.HasPrefix(name, "mkfs.") {
		name = "mkfs"
	}
	if r, ok := rules[name]; ok {
		return r(cmd, root)
	}
	return destroysRemotely(cmd).or(destroysTables(cmd, root))
}

// After an option, --help can be the value of that option.
func asksForHelp(cmd shell.Command) bool {
	for i, a := range cmd.Args {
		switch {
		case a.Text == "--help":
			_, file := rules[cmd.Name]
			return i == 0 || cmd.Name == "git" || !file
		case strings.HasPrefix(a.Text, "-"):
			return false
		}
	}
	return false
}
