package shell

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// shells run the code that they are given.
var shells = map[string]bool{
	"bash": true, "sh": true, "dash": true, "zsh": true, "ksh": true, "mksh": true, "ash": true,
	"rbash": true, "yash": true, "csh": true, "tcsh": true, "fish": true,
}

// start follows what a program starts, or what a builtin does to the state.
type start func(w *walker, name string, args []Word, st *state, in input)

// starts returns how to follow a program; nil for one that starts nothing.
func starts(name string) start {
	switch name {
	case "cd", "chdir", "pushd":
		return func(_ *walker, _ string, args []Word, st *state, _ input) { changeDir(args, st) }
	case "popd":
		return func(_ *walker, _ string, _ []Word, st *state, _ input) { st.dir = Hole }
	case "eval":
		return (*walker).eval
	case "source", ".":
		return (*walker).dot
	case "trap":
		return (*walker).trap
	case "alias":
		return (*walker).alias
	case "shift":
		return func(_ *walker, _ string, args []Word, st *state, _ input) { st.shift(args) }
	case "set":
		return func(_ *walker, _ string, args []Word, st *state, _ input) { setParams(args, st) }
	case "exec", "command", "builtin", "time":
		return (*walker).same
	}
	return startsProgram(name)
}

func startsProgram(name string) start {
	switch name {
	case "find":
		return func(w *walker, _ string, args []Word, st *state, _ input) { w.find(args, st) }
	case "fd", "fdfind":
		return func(w *walker, _ string, args []Word, st *state, _ input) { w.fd(args, st) }
	case "xargs":
		return func(w *walker, _ string, args []Word, st *state, in input) { w.xargs(args, st, in) }
	case "parallel":
		return func(w *walker, _ string, args []Word, st *state, in input) { w.parallel(args, st, in) }
	case "powershell", "pwsh":
		return (*walker).powershell
	case "git":
		return func(w *walker, _ string, args []Word, st *state, _ input) { w.git(args, st) }
	}
	if _, ok := wrappers[name]; ok {
		return (*walker).unwrap
	}
	switch {
	case forgets[name]:
		return func(_ *walker, _ string, args []Word, st *state, _ input) { forgetArgs(args, st) }
	case shells[name]:
		return func(w *walker, _ string, args []Word, st *state, in input) { w.shell(args, st, in) }
	}
	return (*walker).interpreter
}

// same follows "command cd x": a wrapper whose program runs in this shell.
func (w *walker) same(name string, args []Word, st *state, in input) {
	rest := args
	for more := true; more; {
		_, rest, more = wrappers[name].next(rest)
	}
	if len(rest) > 0 && (rest[0].Text == "cd" || forgets[rest[0].Text] || rest[0].Text == "eval") {
		w.run(rest, st, in)
		return
	}
	w.unwrap(name, args, st, in)
}

// changeDir follows cd and pushd.
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

// eval follows code that runs in this very shell.
func (w *walker) eval(_ string, args []Word, st *state, _ input) {
	text := join(args)
	if strings.Contains(text, Hole) {
		w.out.doubt(DoubtCode)
	}
	w.script(text, st)
}

// dot follows a file whose code runs in this very shell.
func (w *walker) dot(_ string, args []Word, st *state, in input) {
	if len(args) > 0 {
		w.file(args[0], st, in)
	}
}

// file follows code in a file, as far as that is no file: standard input, another
// open one, or what a process writes.
func (w *walker) file(name Word, st *state, in input) {
	switch clean := path.Clean(name.Text); {
	case name.proc:
		w.out.doubt(DoubtCode)
	case clean == "/dev/stdin", clean == "/dev/fd/0", clean == "/proc/self/fd/0":
		w.reads(st, in)
	case strings.HasPrefix(clean, "/dev/fd/"), strings.HasPrefix(clean, "/proc/") && strings.Contains(clean, "/fd/"):
		w.out.doubt(DoubtCode)
	}
}

// trap follows the code that a signal stands for.
func (w *walker) trap(_ string, args []Word, st *state, _ input) {
	for len(args) > 0 && strings.HasPrefix(args[0].Text, "-") {
		args = args[1:]
	}
	if len(args) > 0 { // what follows are signals
		w.script(args[0].Text, st.clone())
	}
}

// alias follows aliases as the functions that they are like.
func (w *walker) alias(_ string, args []Word, st *state, _ input) {
	for _, a := range args {
		name, text, _ := strings.Cut(a.Text, "=")
		file, ok := parse(fill("{ " + text + ` "$@"; }`))
		if !ok || len(file.Stmts) != 1 {
			w.script(text, st.clone())
			continue
		}
		w.functions = append(w.functions, &function{name: name, body: file.Stmts[0], st: st.clone()})
	}
}

var shellOptions = options{short: "oOC", plus: true, long: " --rcfile --init-file --command --init-command "}

// shell follows a shell that is started: its -c, or what it reads.
func (w *walker) shell(args []Word, st *state, in input) {
	st = st.child()
	code, reads := false, false
	for more := true; more; {
		var opt option
		opt, args, more = shellOptions.next(args)
		switch {
		case opt.long == "--command":
			args = append([]Word{opt.value}, args...)
			code, more = true, false
		case opt.long == "--init-command", opt.last() == 'C':
			w.script(opt.value.Text, st)
		case opt.value.proc:
			w.out.doubt(DoubtCode)
		}
		code = code || strings.Contains(opt.letters, "c")
		reads = reads || strings.Contains(opt.letters, "s")
	}
	switch {
	case code:
		w.shellCode(args, st)
	case len(args) == 0 || reads:
		w.reads(st, in)
	default:
		w.file(args[0], st, in)
	}
}

// shellCode follows "bash -c CODE NAME ARG…".
func (w *walker) shellCode(args []Word, st *state) {
	if len(args) == 0 {
		return
	}
	if args[0].Fed {
		w.out.doubt(DoubtInput)
	}
	if st.positional(nil); len(args) > 2 { // without any, the code is as good as on its own
		st.positional(args[2:])
	}
	w.script(args[0].Text, st)
}

// reads follows a shell that runs what is on its standard input.
func (w *walker) reads(st *state, in input) {
	switch in.kind {
	case inputText:
		w.script(in.text, st)
	case inputPipe:
		w.out.doubt(DoubtCode)
	case inputInherited, inputFile:
	}
}

// callWords returns the words of a simple command.
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
