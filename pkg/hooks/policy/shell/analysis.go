package shell

import (
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of an analysis. What goes beyond gets [DoubtTooLarge].
const (
	MaxText    = 64 << 10 // bytes of text
	maxSteps   = 5_000    // statements, programs and scripts followed
	maxBytes   = 1 << 20  // bytes expanded and parsed
	maxNesting = 500      // parentheses in parentheses
	maxDepth   = 200      // statements in statements, programs in programs
)

// Hole stands in a [Word] for what cannot be known before the command runs.
const Hole = "\x00"

// HomeDir stands in a [Word] for the user's home directory.
const HomeDir = "/~"

// TempDir stands in a [Word] for the directory that $TMPDIR names.
const TempDir = "/tmp"

// Doubt is a reason why a text cannot be told in full.
type Doubt string

// The doubts.
const (
	DoubtUnparsed Doubt = "the text is not what a shell parses"
	DoubtTooLarge Doubt = "the text is too large or nested too deeply"
	DoubtProgram  Doubt = "a program's name is only known when it runs"
	DoubtCode     Doubt = "code that runs is only known when it runs"
	DoubtInput    Doubt = "each line of input is run as code"
)

// Word is one argument, after quotes and expansions.
type Word struct {
	Text string // with [Hole], [HomeDir] for what is not known
	Glob bool   // holds an unquoted *, ? or [
	Fed  bool   // comes from input: xargs, parallel, find -exec
	Open bool   // a hole in it is what a command prints, or a default, and may hold slashes
	proc bool   // is a process substitution
}

// Known tells whether all of w is known.
func (w Word) Known() bool { return !strings.Contains(w.Text, Hole) }

// Command is one program that the text would start, or a builtin.
type Command struct {
	Name string // the last element of its path, in lower case
	Args []Word
	Dir  string // where it runs: "" is where the text starts; may hold [Hole]
}

// Analysis is what can be told of a text.
type Analysis struct {
	Commands []Command // in the order in which they were found
	Writes   []Word    // files that output is redirected to
	Doubts   []Doubt   // without repetition, in the order in which they arose
}

// Dynamic tells whether the text cannot be told in full.
func (a *Analysis) Dynamic() bool { return len(a.Doubts) > 0 }

// Has tells whether a holds the doubt.
func (a *Analysis) Has(d Doubt) bool { return slices.Contains(a.Doubts, d) }

func (a *Analysis) doubt(d Doubt) {
	if !a.Has(d) {
		a.Doubts = append(a.Doubts, d)
	}
}

// Analyze tells which programs text would start. It never fails: text that no
// shell parses gets [DoubtUnparsed] and is searched for programs by its lines.
func Analyze(text string) *Analysis {
	w := &walker{out: &Analysis{}}
	w.script(text, newState())
	return w.out
}

// maxRetry is how long a text may be that is tried in another language than
// Bash.
const maxRetry = 8 << 10

// parsers has parsers of Bash to use again; one serves one text at a time.
var parsers = sync.Pool{New: func() any { return syntax.NewParser() }}

// parse returns the syntax tree in the first language that takes text.
func parse(text string) (*syntax.File, bool) {
	if p, ok := parsers.Get().(*syntax.Parser); ok {
		defer parsers.Put(p)
		if file, err := p.Parse(strings.NewReader(text), ""); err == nil {
			return file, true
		}
	}
	if len(text) > maxRetry {
		return nil, false
	}
	for _, lang := range []syntax.LangVariant{syntax.LangZsh, syntax.LangPOSIX, syntax.LangMirBSDKorn} {
		if file, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(text), ""); err == nil {
			return file, true
		}
	}
	return nil, false
}

// script follows text that is given to a shell.
func (w *walker) script(text string, st *state) {
	if !w.enter() {
		return
	}
	defer w.leave()
	if !w.spend(len(text)) {
		return
	}
	if len(text) > MaxText || nesting(text) > maxNesting {
		w.out.doubt(DoubtTooLarge)
		w.loose(text, st)
		return
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if strings.ContainsRune(text, 0) {
		text = fill(text)
	}
	file, ok := parse(text)
	if !ok {
		w.out.doubt(DoubtUnparsed)
		w.loose(text, st)
		return
	}
	mark := len(w.functions)
	w.stmts(file.Stmts, st)
	w.uncalled(mark, st)
}

// nesting returns how deep parentheses nest, quotes or not: the parser takes
// long where that is much.
func nesting(text string) int {
	depth, most := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
			most = max(most, depth)
		case ')':
			depth = max(0, depth-1)
		}
	}
	return most
}

// fill puts a variable that has no value in the place of each hole, so that the
// parser sees what the shell will see: something it does not know either.
func fill(text string) string {
	return strings.ReplaceAll(text, Hole, "${"+holeName+"}")
}
