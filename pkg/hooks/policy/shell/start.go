package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// shells run the code that they are given.
var shells = map[string]bool{
	"bash": true, "sh": true, "dash": true, "zsh": true, "ksh": true, "mksh": true, "ash": true,
	"rbash": true, "fish": true, "powershell": true, "pwsh": true,
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
		return (*walker).source
	case "trap", "alias":
		return (*walker).later
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

// source tells code that comes from a pipe or a process from that of a file.
func (w *walker) source(_ string, args []Word, _ *state, in input) {
	if len(args) > 0 && (args[0].proc || args[0].Text == "/dev/stdin" && in.kind == inputPipe) {
		w.out.doubt(DoubtCode)
	}
}

// later follows the code that a signal or an alias stands for.
func (w *walker) later(name string, args []Word, st *state, _ input) {
	for _, a := range args {
		text := a.Text
		if name == "alias" {
			_, text, _ = strings.Cut(text, "=")
		}
		if !strings.HasPrefix(text, "-") {
			w.script(text, st.clone())
		}
		if name == "trap" {
			return // what follows are signals
		}
	}
}

var shellOptions = options{short: "oO", plus: true, long: " --rcfile --init-file --command "}

// shell follows a shell that is started: its -c, or what it reads.
func (w *walker) shell(args []Word, st *state, in input) {
	st = st.child()
	code, reads := false, false
	for more := true; more; {
		var opt option
		opt, args, more = shellOptions.next(spelledOut(args))
		if opt.long == "--command" {
			args = append([]Word{opt.value}, args...)
			code, more = true, false
		}
		code = code || strings.Contains(opt.letters, "c")
		reads = reads || strings.Contains(opt.letters, "s")
	}
	switch {
	case code:
		w.shellCode(args, st)
	case len(args) > 0 && args[0].proc:
		w.out.doubt(DoubtCode)
	case len(args) == 0 || reads || args[0].Text == "/dev/stdin":
		w.reads(st, in)
	}
}

// spelledOut gives the -Command of PowerShell, which takes all that follows, the
// form of others.
func spelledOut(args []Word) []Word {
	if len(args) == 0 || !strings.EqualFold(args[0].Text, "-command") {
		return args
	}
	return []Word{{Text: "--command"}, {Text: join(args[1:])}}
}

// shellCode follows "bash -c CODE NAME ARG…".
func (w *walker) shellCode(args []Word, st *state) {
	if len(args) == 0 {
		return
	}
	if args[0].Fed {
		w.out.doubt(DoubtInput)
	}
	st.positional(args[min(2, len(args)):])
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
