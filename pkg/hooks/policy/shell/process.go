package shell

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

var shells = set("bash sh dash zsh ksh mksh ash rbash yash csh tcsh fish")

// For a program, st is a copy, because a program cannot change the state of the shell.
type process struct {
	w    *walker
	name string
	args []Word
	st   *state
	in   input
}

func follow(name string) func(*process) {
	switch name {
	case "cd", "chdir", "pushd":
		return func(p *process) { changeDir(p.args, p.st) }
	case "popd":
		return func(p *process) { p.st.dir = Hole }
	case "eval":
		return (*process).eval
	case "source", ".":
		return (*process).source
	case "trap":
		return (*process).trap
	case "alias":
		return (*process).alias
	case "shift":
		return func(p *process) { p.st.shift(p.args) }
	case "set":
		return func(p *process) { setParams(p.args, p.st) }
	case "exec", "command", "builtin", "time":
		return (*process).inShell
	}
	return followProgram(name)
}

func followProgram(name string) func(*process) {
	switch name {
	case "find":
		return (*process).find
	case "fd", "fdfind":
		return (*process).fd
	case "xargs":
		return (*process).xargs
	case "parallel":
		return (*process).parallel
	case "powershell", "pwsh":
		return (*process).powershell
	case "git":
		return (*process).git
	}
	if _, ok := wrappers[name]; ok {
		return (*process).unwrap
	}
	if f := followOther(name); f != nil {
		return f
	}
	switch {
	case forgets[name]:
		return func(p *process) { forgetArgs(p.args, p.st) }
	case shells[name]:
		return (*process).shell
	}
	return (*process).interpreter
}

func followOther(name string) func(*process) {
	switch name {
	case "cmd":
		return windowsShell
	case "at", "batch":
		return runLater
	case "iex", "invoke-expression":
		return func(p *process) { p.w.out.doubt(DoubtCode) }
	}
	return nil
}

func (p *process) inShell() {
	rest := p.args
	for more := true; more; {
		_, rest, more = wrappers[p.name].next(rest)
	}
	if len(rest) > 0 && (rest[0].Text == "cd" || forgets[rest[0].Text] || rest[0].Text == "eval") {
		p.w.run(rest, p.st, p.in)
		return
	}
	p.unwrap()
}

func changeDir(args []Word, st *state) {
	for len(args) > 0 && len(args[0].Text) > 1 && args[0].Text[0] == '-' {
		args = args[1:]
	}
	switch {
	case len(args) == 0:
		st.dir = HomeDir
	case args[0].Text == "-" || args[0].Glob:
		st.dir = Hole
	default:
		st.enter(args[0].Text)
	}
}

func (p *process) eval() {
	text := join(p.args)
	if strings.Contains(text, Hole) {
		p.w.out.doubt(DoubtCode)
	}
	p.w.script(text, p.st)
}

func (p *process) source() {
	if len(p.args) > 0 {
		p.file(p.args[0])
	}
}

func (p *process) file(name Word) {
	switch clean := path.Clean(name.Text); {
	case name.proc:
		p.w.out.doubt(DoubtCode)
	case clean == "/dev/stdin", clean == "/dev/fd/0", clean == "/proc/self/fd/0":
		p.reads()
	case strings.HasPrefix(clean, "/dev/fd/"), strings.HasPrefix(clean, "/proc/") && strings.Contains(clean, "/fd/"):
		p.w.out.doubt(DoubtCode)
	}
}

func (p *process) trap() {
	args := p.args
	for len(args) > 0 && strings.HasPrefix(args[0].Text, "-") {
		args = args[1:]
	}
	if len(args) > 0 { // the arguments after the first are signals
		p.w.script(args[0].Text, p.st.clone())
	}
}

func (p *process) alias() {
	for _, a := range p.args {
		name, text, _ := strings.Cut(a.Text, "=")
		file, ok := parse(fill("{ " + text + ` "$@"; }`))
		if !ok || len(file.Stmts) != 1 {
			p.w.script(text, p.st.clone())
			continue
		}
		p.w.functions.define(name, file.Stmts[0], p.st)
	}
}

var shellOptions = options{short: "oOC", plus: true, long: " --rcfile --init-file --command --init-command "}

func (p *process) shell() {
	p.st = p.st.child()
	args := p.args
	code, reads := false, false
	for more := true; more; {
		var opt option
		opt, args, more = shellOptions.next(args)
		switch {
		case opt.long == "--command":
			args = append([]Word{opt.value}, args...)
			code, more = true, false
		case opt.long == "--init-command", opt.last() == 'C':
			p.w.script(opt.value.Text, p.st)
		case opt.value.proc:
			p.w.out.doubt(DoubtCode)
		}
		code = code || strings.Contains(opt.letters, "c")
		reads = reads || strings.Contains(opt.letters, "s")
	}
	switch {
	case code:
		p.shellCode(args)
	case len(args) == 0 || reads:
		p.reads()
	default:
		p.file(args[0])
	}
}

// In "bash -c CODE NAME ARG…", the words after NAME become $1, $2 and so on.
func (p *process) shellCode(args []Word) {
	if len(args) == 0 {
		return
	}
	if args[0].Fed {
		p.w.out.doubt(DoubtInput)
	}
	if p.st.positional(nil); len(args) > 2 {
		p.st.positional(args[2:])
	}
	p.w.script(args[0].Text, p.st)
}

func (p *process) reads() {
	switch p.in.kind {
	case inputText:
		p.w.script(p.in.text, p.st)
	case inputPipe:
		p.w.out.doubt(DoubtCode)
	case inputInherited, inputFile:
	}
}

func callWords(s *syntax.Stmt) []*syntax.Word {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok {
		return nil
	}
	var words []*syntax.Word
	for _, a := range call.Assigns {
		if a.Name == nil {
			continue
		}
		lit := &syntax.Lit{Value: a.Name.Value + "="}
		word := &syntax.Word{Parts: []syntax.WordPart{lit}}
		if a.Value != nil {
			word.Parts = append(word.Parts, a.Value.Parts...)
		}
		words = append(words, word)
	}
	return append(words, call.Args...)
}
