package shell

import (
	"path"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

type inputKind uint8

const (
	inputInherited inputKind = iota // the standard input of the analysed text
	inputFile
	inputPipe // output of another program, unknown to the analysis
	inputText // known text
)

type input struct {
	kind inputKind
	text string
}

func (w *walker) redirects(list []*syntax.Redirect, st *state, in input) input {
	for _, r := range list {
		w.substitutions(r.Word, st)
		w.substitutions(r.Hdoc, st)
		switch r.Op { //nolint:exhaustive // the others are output
		case syntax.RdrIn, syntax.RdrInOut, syntax.WordHdoc, syntax.Hdoc, syntax.DashHdoc, syntax.DplIn:
			if r.Op == syntax.RdrIn || r.Op == syntax.RdrInOut {
				w.out.Reads = append(w.out.Reads, w.files(r, st)...)
			}
			if r.N == nil || r.N.Value == "0" { // standard input, the default
				in = w.source(r, st, in)
			}
		case syntax.DplOut:
			for _, f := range w.files(r, st) {
				if strings.Trim(f.Text, "0123456789-") != "" { // not another descriptor, as in ">&2"
					w.out.Writes = append(w.out.Writes, f)
				}
			}
		default:
			w.out.Writes = append(w.out.Writes, w.files(r, st)...)
		}
	}
	return in
}

func (w *walker) files(r *syntax.Redirect, st *state) []File {
	var files []File
	for _, word := range w.expander(st).fields(r.Word) {
		files = append(files, File{Word: word, Dir: st.dir})
	}
	return files
}

func (w *walker) source(r *syntax.Redirect, st *state, in input) input {
	switch r.Op { //nolint:exhaustive // the others are output
	case syntax.WordHdoc:
		return input{inputText, w.expander(st).literal(r.Word)}
	case syntax.Hdoc, syntax.DashHdoc:
		if quotedWord(r.Word) {
			return input{inputText, raw(r.Hdoc)}
		}
		return input{inputText, w.expander(st).document(r.Hdoc)}
	case syntax.DplIn: // "<&3" can be anything, "<&-" closes the input
		switch w.expander(st).literal(r.Word) {
		case "0":
			return in
		case "-":
			return input{kind: inputFile}
		}
		return input{kind: inputPipe}
	}
	if hasProcess(r.Word) {
		return input{kind: inputPipe}
	}
	return input{kind: inputFile}
}

func raw(word *syntax.Word) string {
	var b strings.Builder
	if word != nil {
		for _, p := range word.Parts {
			if lit, ok := p.(*syntax.Lit); ok {
				b.WriteString(lit.Value)
			}
		}
	}
	return b.String()
}

func quotedWord(word *syntax.Word) bool {
	if word == nil {
		return false
	}
	for _, p := range word.Parts {
		if lit, ok := p.(*syntax.Lit); !ok || strings.Contains(lit.Value, `\`) {
			return true
		}
	}
	return false
}

func hasProcess(word *syntax.Word) bool {
	if word == nil {
		return false
	}
	for _, p := range word.Parts {
		if _, ok := p.(*syntax.ProcSubst); ok {
			return true
		}
	}
	return false
}

func (w *walker) output(s *syntax.Stmt, st *state, in input) input {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok {
		return input{kind: inputPipe}
	}
	var words []string
	for _, arg := range call.Args {
		for _, f := range w.expander(st).fields(arg) {
			words = append(words, f.Text)
		}
	}
	if len(words) == 0 {
		return input{kind: inputPipe}
	}
	switch args := words[1:]; words[0] {
	case "echo":
		return echoes(args)
	case "printf":
		return formats(args)
	case "cat":
		scratch := newWalker() // w itself reports the redirections of s
		scratch.work = w.work
		scratch.work.out = scratch.out
		in = scratch.redirects(s.Redirs, st, in)
		if w.work.work = scratch.work.work; len(args) == 0 && in.kind == inputText {
			return in
		}
	}
	return input{kind: inputPipe}
}

// octal matches an octal escape of echo, such as \0101. The function expand.Format expects \101
// instead.
var octal = regexp.MustCompile(`\\0([0-7]{1,3})`)

// Shells disagree about escapes without -e, so the result contains the text with and without
// decoding.
func echoes(args []string) input {
	escapes := false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		escapes = escapes || strings.Contains(args[0], "e")
		args = args[1:]
	}
	text := strings.Join(args, " ")
	if !strings.Contains(text, `\`) {
		return input{inputText, text}
	}
	plain, _, err := expand.Format(nil, octal.ReplaceAllString(text, `\$1`), nil) // without arguments, Format keeps "%"
	switch {
	case err != nil:
		return input{kind: inputPipe}
	case escapes:
		return input{inputText, plain}
	}
	return input{inputText, text + "\n" + plain}
}

// The output is unknown for verbs other than %s, because a verb such as %1000d turns a short text
// into a long one.
func formats(args []string) input {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		rest := strings.NewReplacer("%%", "", "%s", "").Replace(args[0])
		text, _, err := expand.Format(nil, args[0], args[1:])
		if err == nil && !strings.ContainsAny(rest, "%"+Hole) {
			return input{inputText, text}
		}
	}
	return input{kind: inputPipe}
}

func (w *walker) call(c *syntax.CallExpr, st *state, in input) {
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			w.assign(a, st, false)
		}
		return
	}
	own := st
	if len(c.Assigns) > 0 {
		own = st.clone()
		for _, a := range c.Assigns {
			w.assign(a, own, true)
		}
	}
	var argv []Word
	for _, arg := range c.Args {
		w.substitutions(arg, st)
		argv = append(argv, w.expander(st).fields(arg)...)
	}
	w.run(argv, own, in)
	if own != st { // keep x but not IFS from "IFS=: read x"
		for _, a := range c.Assigns {
			if a.Name != nil {
				own.restore(a.Name.Value, st)
			}
		}
		*st = *own
	}
}

func (w *walker) run(argv []Word, st *state, in input) {
	if len(argv) == 0 || !w.work.enterProgram(argv, st) {
		return
	}
	defer w.work.leave()
	name, known := program(argv[0])
	args := argv[1:]
	if known {
		w.out.Commands = append(w.out.Commands, Command{Name: name, Path: argv[0].Text, Args: args, Dir: st.dir, Input: in.text, Piped: in.kind == inputPipe})
	}
	if !known || argv[0].Glob && name != "[" {
		if argv[0].Fed {
			w.out.doubt(DoubtInput)
		}
		w.out.doubt(DoubtProgram)
		w.run(args, st, in)
		return
	}
	if program, ok := strings.CutPrefix(argv[0].Text, "="); ok { // in zsh, =name is the path of a program
		w.run(append([]Word{{Text: program}}, args...), st, in)
	}
	if strings.Contains(argv[0].Text, "=") { // an assignment that the parser did not recognise
		w.run(args, st, in)
		return
	}
	w.argumentCommands(args, st)
	if !w.callFunction(argv[0].Text, args, st, in) {
		follow(name)(&process{w: w, name: name, args: args, st: st, in: in})
	}
}

func program(word Word) (string, bool) {
	text := word.Text
	if i := strings.LastIndexByte(text, '/'); i >= 0 && i+1 < len(text) {
		text = text[i+1:]
	}
	if strings.Contains(text, Hole) || text == "" {
		return "", false
	}
	return strings.TrimSuffix(strings.ToLower(path.Base(text)), ".exe"), true
}
