package shell

import "strings"

var gitOptions = options{
	short: "Cc",
	long:  " --git-dir --work-tree --namespace --exec-path --super-prefix --config-env --attr-source ",
}

// Git returns the subcommand of git, or "", and the arguments after it.
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

func (p *process) git() {
	p.st = p.st.child()
	sub, rest := Git(p.args)
	p.gitOptions()
	if strings.Contains(sub, Hole) {
		p.w.out.doubt(DoubtProgram)
	}
	switch {
	case sub == "rebase":
		p.rebase(rest)
	case len(rest) == 0:
	case sub == "config":
		gitAliases(p, rest)
	case sub == "submodule" && rest[0].Text == "foreach", sub == "bisect" && rest[0].Text == "run":
		rest = rest[1:]
		for more := true; more; {
			_, rest, more = options{}.next(rest)
		}
		p.w.script(join(rest), p.st)
	}
}

func (p *process) gitOptions() {
	for args := p.args; ; {
		opt, rest, ok := gitOptions.next(args)
		if !ok {
			break
		}
		if args = rest; opt.last() == 'c' {
			p.gitConfig(opt.value.Text, rest)
		}
	}
}

func gitAliases(p *process, args []Word) {
	for _, a := range args {
		if code, ok := strings.CutPrefix(a.Text, "!"); ok {
			search{p.w, p.st}.command(code)
		}
	}
}

func (p *process) gitConfig(entry string, args []Word) {
	key, text, _ := strings.Cut(entry, "=")
	name, ok := strings.CutPrefix(strings.ToLower(key), "alias.")
	if !ok { // other settings, such as core.pager, core.sshCommand and credential.helper
		search{p.w, p.st}.command(strings.TrimPrefix(text, "!"))
		return
	}
	sub, rest := Git(args)
	if name != sub {
		return
	}
	if code, ok := strings.CutPrefix(text, "!"); ok {
		p.w.script(code+" "+join(rest), p.st)
		return
	}
	p.w.script("git "+text+" "+join(rest), p.st)
}

func (p *process) rebase(args []Word) {
	rebaseOptions := options{short: "xXsC", long: " --exec --onto --strategy --strategy-option "}
	for {
		opt, rest, ok := rebaseOptions.next(args)
		switch {
		case ok && (opt.last() == 'x' || opt.long == "--exec"):
			p.w.script(opt.value.Text, p.st)
		case !ok && len(rest) == 0:
			return
		case !ok:
			rest = rest[1:]
		}
		args = rest
	}
}
