package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

type gitRule func(args []shell.Word) string

var gitRules = map[string]gitRule{
	"reset": gitReset, "checkout": gitCheckout, "switch": gitSwitch, "restore": gitRestore, "clean": gitClean,
	"push": gitPush, "tag": gitTag, "branch": gitBranch, "stash": gitStash, "worktree": gitWorktree, "rm": gitRm,
	"reflog": gitReflog, "update-ref": gitUpdateRef, "gc": gitGC, "submodule": gitSubmodule,
	"prune":         gitAlways("git prune removes what only the reflog still knew"),
	"filter-branch": gitAlways("git filter-branch rewrites history"),
	"filter-repo":   gitAlways("git filter-repo rewrites history"),
	"checkout-index": func(args []shell.Word) string {
		return when(options(args).has("f") || options(args).hasLong("force"), "git checkout-index -f overwrites changes")
	},
	"read-tree": func(args []shell.Word) string {
		return when(options(args).hasLong("reset"), "git read-tree --reset overwrites changes")
	},
}

func gitAlways(what string) gitRule { return func([]shell.Word) string { return what } }

func options(args []shell.Word) arguments { return optionTable{}.sort(args) }

func when(is bool, what string) string {
	if is {
		return what
	}
	return ""
}

func gitDestroys(cmd shell.Command, root string) finding {
	sub, rest := shell.Git(cmd.Args)
	r, ok := gitRules[sub]
	if !ok || onFiles[sub] && inScratch(cmd, root) {
		return finding{}
	}
	if sub == "clean" && forcedByConfig(cmd.Args) {
		rest = append(slices.Clone(rest), shell.Word{Text: "--force"})
	}
	return finding{what: r(rest)}
}

var onFiles = words("reset checkout switch restore clean rm")

func inScratch(cmd shell.Command, root string) bool {
	for _, a := range cmd.Args {
		if strings.HasPrefix(a.Text, "-C") || strings.HasPrefix(a.Text, "--git-dir") || strings.HasPrefix(a.Text, "--work-tree") {
			return false
		}
	}
	return path.IsAbs(cmd.Dir) && locate(shell.Word{Text: path.Dir(cmd.Dir)}, cmd.Dir, root) == locationTemp
}

func forcedByConfig(args []shell.Word) bool {
	return slices.ContainsFunc(args, func(a shell.Word) bool {
		return strings.HasPrefix(strings.TrimPrefix(strings.ToLower(a.Text), "-c"), "clean.requireforce=")
	})
}

func gitReset(args []shell.Word) string {
	o := options(args)
	switch {
	case o.hasLong("hard"):
		return "git reset --hard discards uncommitted changes"
	case o.hasLong("merge"):
		return "git reset --merge discards uncommitted changes"
	}
	return ""
}

var checkoutTable = optionTable{
	short: "bBU",
	long:  []string{"orphan", "conflict", "unified", "inter-hunk-context", "pathspec-from-file"},
}

func gitCheckout(args []shell.Word) string {
	o := checkoutTable.sort(withoutModes(args))
	switch {
	case o.has("f") || o.hasLong("force"):
		return "git checkout --force discards uncommitted changes"
	case o.has("bB") || o.hasLong("orphan"):
		return ""
	case o.dashes >= 0 && len(o.operands) > o.dashes:
		return "git checkout -- discards changes of files"
	case o.hasLong("pathspec-from-file"):
		return "git checkout --pathspec-from-file discards changes of files"
	}
	files := len(o.operands) > 1 || len(o.operands) == 1 && isPathspec(o.operands[0])
	return when(files && !o.has("p") && !o.hasLong("patch"), "git checkout of files discards their changes")
}

func withoutModes(args []shell.Word) []shell.Word {
	var out []shell.Word
	for i, a := range args {
		if i > 0 {
			before := args[i-1].Text
			if before == "--track" && (a.Text == "direct" || a.Text == "inherit") ||
				before == "--recurse-submodules" && (a.Text == "checkout" || a.Text == "on-demand") {
				continue
			}
		}
		out = append(out, a)
	}
	return out
}

func isPathspec(w shell.Word) bool {
	clean := path.Clean(w.Text)
	return w.Glob || strings.HasPrefix(w.Text, ":") || clean == "." || clean == ".." ||
		strings.HasPrefix(w.Text, "./") || strings.HasPrefix(w.Text, "../") || path.IsAbs(w.Text)
}

func gitSwitch(args []shell.Word) string {
	o := optionTable{short: "cC"}.sort(args)
	return when(o.has("f") || o.hasLong("force", "discard-changes"), "git switch --force discards uncommitted changes")
}

func gitRestore(args []shell.Word) string {
	o := optionTable{short: "s", long: []string{"source"}}.sort(args)
	staged := o.has("S") || o.hasLong("staged")
	worktree := o.has("W") || o.hasLong("worktree")
	return when(worktree || !staged && (len(o.operands) > 0 || o.hasLong("pathspec-from-file")), "git restore discards changes of files")
}

func gitClean(args []shell.Word) string {
	o := optionTable{short: "e", long: []string{"exclude"}}.sort(args)
	dry := o.has("n") || o.hasLong("dry-run")
	return when(!dry && (o.has("f") || o.hasLong("force")), "git clean -f removes files that git does not know")
}

func gitPush(args []shell.Word) string {
	o := optionTable{short: "o", long: []string{"push-option", "receive-pack", "exec", "repo"}}.sort(args)
	var refs []shell.Word
	if len(o.operands) > 0 {
		refs = o.operands[1:]
	}
	begins := func(mark string) bool {
		return slices.ContainsFunc(refs, func(r shell.Word) bool { return len(r.Text) > 1 && strings.HasPrefix(r.Text, mark) })
	}
	forced := o.has("f") || o.exact("force") || begins("+")
	switch {
	case forced && !o.exact("force-with-lease"):
		return "git push --force overwrites the history of others; --force-with-lease does not"
	case o.exact("mirror"):
		return "git push --mirror removes branches of others"
	case o.exact("prune"):
		return "git push --prune removes branches of others"
	case o.has("d") || o.hasLong("delete") || begins(":"):
		return "git push --delete removes a remote branch"
	}
	return ""
}

func gitBranch(args []shell.Word) string {
	o := options(args)
	deletes := o.has("d") || o.hasLong("delete")
	return when(o.has("D") || deletes && (o.has("f") || o.hasLong("force")), "git branch -D removes commits that were not merged")
}

func gitStash(args []shell.Word) string {
	if len(args) == 0 {
		return ""
	}
	switch strings.ToLower(args[0].Text) {
	case "drop":
		return "git stash drop removes stashed changes"
	case "clear":
		return "git stash clear removes all stashed changes"
	}
	return ""
}

func gitWorktree(args []shell.Word) string {
	o := options(args)
	return when(len(o.operands) > 0 && o.operands[0].Text == "remove" && (o.has("f") || o.hasLong("force")),
		"git worktree remove --force removes uncommitted changes")
}

func gitRm(args []shell.Word) string {
	o := options(args)
	return when((o.has("f") || o.hasLong("force")) && !o.hasLong("cached"), "git rm -f removes uncommitted changes")
}

func gitReflog(args []shell.Word) string {
	o := options(args)
	removes := len(o.operands) > 0 && (o.operands[0].Text == "expire" || o.operands[0].Text == "delete")
	return when(removes && !o.has("n") && !o.hasLong("dry-run"), "git reflog expire removes the last way back")
}

func gitUpdateRef(args []shell.Word) string {
	o := options(args)
	return when(o.has("d") || o.hasLong("stdin"), "git update-ref removes a ref whatever it holds")
}

func gitGC(args []shell.Word) string {
	for _, a := range args {
		if value, ok := strings.CutPrefix(a.Text, "--prune="); ok && (value == "now" || value == "all") {
			return "git gc --prune=now removes what only the reflog still knew"
		}
	}
	return ""
}

func gitSubmodule(args []shell.Word) string {
	o := options(args)
	return when(len(o.operands) > 0 && o.operands[0].Text == "deinit" && (o.has("f") || o.hasLong("force")),
		"git submodule deinit -f removes uncommitted changes")
}

func gitTag(args []shell.Word) string {
	opts := options(args)
	if opts.has("d") || opts.exact("delete") {
		return "git tag -d removes a tag"
	}
	return when(opts.has("f") || opts.exact("force"), "git tag -f moves a tag that others may use")
}
