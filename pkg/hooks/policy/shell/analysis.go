package shell

import (
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of one analysis. A text above a limit adds [DoubtTooLarge].
const (
	MaxText    = 64 << 10 // bytes of text
	maxSteps   = 5_000    // statements, programs and scripts
	maxBytes   = 1 << 20  // bytes expanded and parsed
	maxNesting = 500      // nested parentheses
	maxDepth   = 200      // nested statements and programs

	maxWork     = 150_000 // words to judge, and other work in units of about one word. More adds [DoubtTooLong]
	textPerWork = 32      // bytes of one word
	varsPerWork = 16      // variables that are copied
	codePerWork = 4       // bytes of code in another language, which many expressions search
)

// Hole replaces, in the text of a [Word], a part that is unknown until the command runs, such as
// the output of a program.
const Hole = "\x00"

// MaxPath is the longest path that an operating system accepts, in bytes.
const MaxPath = 4096

// HomeDir is the placeholder in a [Word] for the user's home directory.
const HomeDir = "/~"

// TempDir is the placeholder in a [Word] for the directory in $TMPDIR.
const TempDir = "/tmp"

// Doubt is a reason why the [Analysis] of a shell command may be incomplete.
type Doubt string

// The doubts.
const (
	DoubtUnparsed Doubt = "the text is not what a shell parses"
	DoubtTooLarge Doubt = "the text is too large or nested too deeply"
	DoubtProgram  Doubt = "a program's name is only known when it runs"
	DoubtCode     Doubt = "code that runs is only known when it runs"
	DoubtTooLong  Doubt = "the command is too long to judge"
	DoubtRepeat   Doubt = "the same commands start again and again"
	DoubtInput    Doubt = "each line of input is run as code"
)

// Word is one argument after expansion and quote removal.
type Word struct {
	Text string // may contain [Hole], [HomeDir] and [TempDir]
	Glob bool   // contains an unquoted *, ? or [
	Fed  bool   // passed to the command by xargs, parallel, find or fd, and not in the text
	Open bool   // contains a Hole whose text may contain slashes
	Base string // known base name of a path that find puts in, or ""
	From string // directory in which find starts, if it puts in this word
	proc bool   // contains a process substitution such as <(cmd)
}

// Known reports whether the whole text of w is known before the command runs.
func (w Word) Known() bool { return !strings.Contains(w.Text, Hole) }

// Command is a program or builtin that the analysed shell code would run.
type Command struct {
	Name  string // base name of the program, in lower case and without .exe
	Path  string // the program as written, such as ./run.sh
	Args  []Word
	Dir   string // working directory, "" for the initial one. It can contain [Hole]
	Piped bool   // the standard input is the unknown output of a program
	Input string // text on the standard input, "" if there is none or if it is unknown
}

// File is a file that the analysed shell code would open in a redirection.
type File struct {
	Word
	Dir string // working directory, "" for the initial one. It can contain [Hole]
}

// Analysis is the result of [Analyze].
type Analysis struct {
	Commands []Command // in the order of discovery
	Writes   []File    // files that receive redirected output
	Reads    []File    // files that are redirected to an input
	Code     []string  // code in other languages, such as the value of "python -c"
	Doubts   []Doubt   // each doubt once, in the order of discovery
	Work     int       // steps of the analysis, which have a limit
}

// Dynamic reports whether the analysis is incomplete.
func (a *Analysis) Dynamic() bool { return len(a.Doubts) > 0 }

// Has reports whether a contains the doubt d.
func (a *Analysis) Has(d Doubt) bool { return slices.Contains(a.Doubts, d) }

func (a *Analysis) doubt(d Doubt) {
	if !a.Has(d) {
		a.Doubts = append(a.Doubts, d)
	}
}

// Analyze returns the programs that text would start. If no shell accepts text, it adds
// [DoubtUnparsed] and searches each line.
func Analyze(text string) *Analysis {
	w := newWalker()
	w.script(text, newState())
	w.out.Work = w.work.work
	return w.out
}

// maxRetry is the longest text, in bytes, that is parsed again as zsh, POSIX sh or mksh after Bash
// has rejected the text.
const maxRetry = 8 << 10

var parsers = sync.Pool{New: func() any { return syntax.NewParser() }}

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

func (w *walker) script(text string, st *state) {
	if !w.work.enter() {
		return
	}
	defer w.work.leave()
	if !w.work.spend(len(text)) {
		return
	}
	if len(text) > MaxText || nesting(text) > maxNesting {
		w.out.doubt(DoubtTooLarge)
		search{w, st}.lines(text)
		return
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if strings.ContainsRune(text, 0) {
		text = fill(text)
	}
	file, ok := parse(text)
	if !ok {
		w.out.doubt(DoubtUnparsed)
		search{w, st}.lines(text)
		return
	}
	mark := w.functions.mark()
	w.stmts(file.Stmts, st, input{})
	w.uncalled(mark, st)
}

// The parser is slow on deep nesting, so the depth is checked first.
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

// fill replaces each [Hole] with a variable, because the parser rejects the NUL byte of a Hole.
func fill(text string) string {
	return strings.ReplaceAll(text, Hole, "${"+holeName+"}")
}
