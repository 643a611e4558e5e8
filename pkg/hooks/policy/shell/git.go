package shell

import "strings"

var gitOptions = options{
	short: "Cc",
	long:  " --git-dir --work-tree --namespace --exec-path --super-prefix --config-env --attr-source ",
}

// Git returns the subcommand of git and its arguments, without the options of
// git itself; "" where there is none.
func Git(args []Word) (sub string, rest []Word) {
	rest = args
	for more := true; more; {
		_, rest, more = gitOptions.next(rest)
	}
	if len(rest) == 0 {
		return "", nil
	}
	return strings.ToLower(rest[0].Text), rest[1:]
}

// git follows the programs that git starts: aliases given on the spot, and the
// commands of "submodule foreach", "bisect run" and "rebase --exec".
func (w *walker) git(args []Word, st *state) {
	st = st.child()
	sub, rest := Git(args)
	for {
		opt, rest, ok := gitOptions.next(args)
		if !ok {
			break
		}
		if args = rest; opt.last() == 'c' {
			w.gitConfig(opt.value.Text, rest, st)
		}
	}
	if strings.Contains(sub, Hole) {
		w.out.doubt(DoubtProgram)
	}
	switch {
	case sub == "rebase":
		w.rebase(rest, st)
	case len(rest) == 0:
	case sub == "submodule" && rest[0].Text == "foreach", sub == "bisect" && rest[0].Text == "run":
		rest = rest[1:]
		for more := true; more; {
			_, rest, more = options{}.next(rest)
		}
		w.script(join(rest), st)
	}
}

// gitConfig follows an entry given by -c: an alias, if it is used in the same
// breath, and what may be a program that git starts.
func (w *walker) gitConfig(entry string, args []Word, st *state) {
	key, text, _ := strings.Cut(entry, "=")
	name, ok := strings.CutPrefix(strings.ToLower(key), "alias.")
	if !ok { // core.pager, core.sshCommand, credential.helper, …
		w.seek(strings.TrimPrefix(text, "!"), st)
		return
	}
	sub, rest := Git(args)
	if name != sub {
		return
	}
	if code, ok := strings.CutPrefix(text, "!"); ok {
		w.script(code+" "+join(rest), st)
		return
	}
	w.script("git "+text+" "+join(rest), st)
}

// rebase follows the commands that run between commits.
func (w *walker) rebase(args []Word, st *state) {
	rebaseOptions := options{short: "xXsC", long: " --exec --onto --strategy --strategy-option "}
	for {
		opt, rest, ok := rebaseOptions.next(args)
		switch {
		case ok && (opt.last() == 'x' || opt.long == "--exec"):
			w.script(opt.value.Text, st)
		case !ok && len(rest) == 0:
			return
		case !ok:
			rest = rest[1:]
		}
		args = rest
	}
}
