package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

func removes(cmd shell.Command, root string) finding {
	args := optionTable{}.sort(cmd.Args)
	recursive := args.has("rR") || args.hasLong("recursive")
	if args.exact("no-preserve-root") {
		return finding{what: "rm --no-preserve-root removes the root directory"}
	}
	if !recursive {
		return removesFound(args.operands, cmd.Dir, root)
	}
	return removesTrees(args.operands, args.has("f") || args.hasLong("force"), cmd.Dir, root)
}

func removesFound(targets []shell.Word, dir, root string) finding {
	for _, target := range targets {
		if target.From == "" || target.Text != shell.Hole {
			continue
		}
		switch locate(shell.Word{Text: target.From}, dir, root) {
		case locationOutside:
			return finding{what: "find removes files outside the working directory and temporary directories"}
		case locationCritical:
			if path.IsAbs(target.From) {
				return finding{what: "find removes files outside the working directory and temporary directories"}
			}
		case locationInside, locationTemp, locationUnknown:
		}
	}
	return finding{}
}

func removesTrees(targets []shell.Word, force bool, dir, root string) finding {
	var worst finding
	for _, target := range targets {
		switch locate(target, dir, root) {
		case locationCritical:
			return finding{what: "rm -r of a home, a system directory, the whole working directory or its history"}
		case locationOutside:
			if force {
				return finding{what: "rm -rf outside the working directory and temporary directories"}
			}
		case locationUnknown:
			if !force {
				continue
			}
			if strings.HasPrefix(strings.TrimLeft(target.Text, "/"), shell.Hole) {
				return finding{what: "rm -rf of a path that is only known when it runs"}
			}
			worst = finding{what: "rm -rf of a path that is only known when it runs", unknown: true}
		case locationInside, locationTemp:
		}
	}
	return worst
}

func removesItem(cmd shell.Command, root string) finding {
	var targets []shell.Word
	recurse, force := false, false
	for _, a := range cmd.Args {
		switch option := strings.ToLower(a.Text); {
		case len(option) > 2 && strings.HasPrefix("-recurse", option):
			recurse = true
		case len(option) > 2 && strings.HasPrefix("-force", option):
			force = true
		case !strings.HasPrefix(option, "-"):
			targets = append(targets, a)
		}
	}
	if !recurse {
		return finding{}
	}
	return removesTrees(targets, force, cmd.Dir, root)
}

func removesAll(cmd shell.Command, root string) finding {
	return removesTrees(options(cmd.Args).operands, true, cmd.Dir, root)
}

func mirrorsAway(cmd shell.Command, root string) finding {
	args := options(cmd.Args)
	if n := len(args.operands); args.hasLong("delete") && n > 1 && !isTrial(cmd) && !args.has("n") {
		if target := args.operands[n-1]; !strings.Contains(target.Text, ":") {
			return removesTrees(args.operands[n-1:], true, cmd.Dir, root)
		}
		return doubted("rsync --delete removes files on another machine")
	}
	return finding{}
}

func removesDirectory(cmd shell.Command, root string) finding {
	var targets []shell.Word
	recursive := false
	for _, a := range cmd.Args {
		switch strings.ToLower(a.Text) {
		case "/s":
			recursive = true
		case "/q", "/f":
		default:
			targets = append(targets, a)
		}
	}
	if !recursive {
		return finding{}
	}
	return removesTrees(targets, true, cmd.Dir, root)
}

func findDeletes(cmd shell.Command, root string) finding {
	paths, deletes := shell.FindDeletes(cmd.Args)
	outside := func(p shell.Word) bool {
		at := locate(p, cmd.Dir, root)
		return at != locationTemp && (at != locationInside || !selects(cmd.Args))
	}
	if deletes && (len(paths) == 0 || slices.ContainsFunc(paths, outside)) {
		return finding{what: "find -delete removes what its tests happen to match"}
	}
	return finding{}
}

func selects(args []shell.Word) bool {
	return slices.ContainsFunc(args, func(a shell.Word) bool { return a.Text == "-name" || a.Text == "-iname" }) &&
		!slices.ContainsFunc(args, func(a shell.Word) bool { return a.Text == "!" || a.Text == "-not" })
}

func overwritesDevice(cmd shell.Command, _ string) finding {
	if cmd.Name == "dd" && fillsDisk(cmd.Args) {
		return doubted("dd without count fills the disk")
	}
	for _, a := range cmd.Args {
		if isDevice(strings.TrimPrefix(a.Text, "of=")) && (cmd.Name != "dd" || strings.HasPrefix(a.Text, "of=")) {
			return finding{what: cmd.Name + " overwrites a device"}
		}
	}
	return finding{}
}

func fillsDisk(args []shell.Word) bool {
	endless, output, limited := false, false, false
	for _, a := range args {
		endless = endless || a.Text == "if=/dev/zero" || a.Text == "if=/dev/urandom" || a.Text == "if=/dev/random"
		output = output || strings.HasPrefix(a.Text, "of=") && !strings.HasPrefix(a.Text, "of=/dev/")
		limited = limited || strings.HasPrefix(a.Text, "count=")
	}
	return endless && output && !limited
}

var devices = []string{"sd", "hd", "vd", "xvd", "nvme", "disk", "rdisk", "mmcblk", "mapper/", "dm-", "md", "loop"}

func isDevice(name string) bool {
	rest, ok := strings.CutPrefix(path.Clean(name), "/dev/")
	return ok && slices.ContainsFunc(devices, func(disk string) bool { return strings.HasPrefix(rest, disk) })
}

func changesTree(cmd shell.Command, root string) finding {
	args := optionTable{}.sort(cmd.Args)
	if !args.has("R") && !args.hasLong("recursive") {
		return finding{}
	}
	for _, target := range args.operands {
		if path.IsAbs(target.Text) && locate(target, cmd.Dir, root) == locationCritical {
			return finding{what: cmd.Name + " -R of a home or a system directory"}
		}
	}
	return finding{}
}

func movesAway(cmd shell.Command, _ string) finding {
	if n := len(cmd.Args); n > 1 && path.Clean(cmd.Args[n-1].Text) == "/dev/null" {
		return finding{what: "mv to /dev/null destroys files"}
	}
	return finding{}
}
