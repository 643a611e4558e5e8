package shell

import (
	"regexp"
	"slices"
	"strings"
)

// interpreter tells where a program takes code of another language.
type interpreter struct {
	letters string // short options behind which code stands
	long    string // long options, with blanks around each
	first   bool   // the first operand is code
}

var interpreters = map[string]interpreter{
	"python": {letters: "c"}, "pypy": {letters: "c"},
	"perl": {letters: "eE"}, "ruby": {letters: "e"}, "php": {letters: "r"},
	"node": {letters: "ep", long: " --eval --print "}, "nodejs": {letters: "ep", long: " --eval --print "},
	"bun": {letters: "e", long: " --eval "}, "lua": {letters: "e"}, "osascript": {letters: "e"},
	"rscript": {letters: "e"}, "groovy": {letters: "e"},
	"awk": {first: true}, "gawk": {first: true}, "mawk": {first: true}, "nawk": {first: true},
}

// interpreter follows the code of a one-liner, or code that stands in the text
// as a here-document.
func (w *walker) interpreter(name string, args []Word, st *state, in input) {
	c, ok := interpreters[strings.TrimRight(name, "0123456789.")]
	if !ok {
		return
	}
	if code, ok := c.code(args); ok {
		w.inline(code, st)
	} else if in.kind == inputText && !c.first && c.reads(args) {
		w.inline(in.text, st)
	}
}

// code returns the code that stands among the arguments.
func (c interpreter) code(args []Word) (string, bool) {
	for i, a := range args {
		code, attached, found := c.option(a.Text)
		switch {
		case attached:
			return code, true
		case found && i+1 < len(args):
			return args[i+1].Text, true
		case a.Text == "--" || c.operand(a.Text):
			return a.Text, c.first && a.Text != "--"
		}
	}
	return "", false
}

// reads tells whether the code comes from standard input: no script is named.
func (c interpreter) reads(args []Word) bool {
	return !slices.ContainsFunc(args, func(a Word) bool { return c.operand(a.Text) })
}

// operand tells whether a word is no option, and not the name of standard input.
func (interpreter) operand(text string) bool { return !strings.HasPrefix(text, "-") }

// option tells whether code stands behind an option, or in it.
func (c interpreter) option(text string) (code string, attached, found bool) {
	if strings.HasPrefix(text, "--") {
		name, value, has := strings.Cut(text, "=")
		found = strings.Contains(c.long, " "+name+" ")
		return value, found && has, found
	}
	if len(text) < 2 || text[0] != '-' || c.letters == "" {
		return "", false, false
	}
	last := text[len(text)-1]
	if strings.IndexByte(c.letters, last) >= 0 {
		return "", false, true
	}
	if strings.IndexByte(c.letters, text[1]) >= 0 && len(text) > 3 {
		return text[2:], true, true
	}
	return "", false, false
}

// callsOut finds code that may start programs.
var callsOut = regexp.MustCompile("(?i)system|popen|subprocess|spawn|exec|child_process|\\bqx\\b|%x|open3|shell|`|\\brun\\b|\\|")

// removesTrees finds code that removes trees by itself.
var removesTrees = regexp.MustCompile(`\b(rmtree|rm_rf|rm_r|remove_tree|remove_dir_all|rimraf|removeSync)\b|\b(rm|rmdir)(Sync)?\([^)]*recursive`)

// inline looks for commands in code of another language: code that happens to be
// one, and strings where the code may start programs.
func (w *walker) inline(code string, st *state) {
	if len(code) > MaxText {
		w.out.doubt(DoubtTooLarge)
		return
	}
	if removesTrees.MatchString(code) {
		w.out.doubt(DoubtCode)
	}
	w.seek(code, st)
	if !callsOut.MatchString(code) {
		return
	}
	var group []Word
	for _, lit := range literals(code) {
		w.seek(lit.text, st)
		if !lit.follows && len(group) > 0 {
			w.quiet(func(q *walker) { q.run(group, st.child(), input{}) })
			group = nil
		}
		group = append(group, Word{Text: lit.text})
	}
	w.quiet(func(q *walker) { q.run(group, st.child(), input{}) })
}

// seek follows text that may be a command, and may be anything else.
func (w *walker) seek(text string, st *state) {
	if !strings.Contains(text, " ") {
		return
	}
	if file, ok := parse(fill(text)); ok {
		w.quiet(func(q *walker) { q.stmts(file.Stmts, st.child()) })
	}
}

// quiet keeps what f finds but not its doubts: what it looks at may be no
// command at all.
func (w *walker) quiet(f func(*walker)) {
	doubts := w.out.Doubts
	f(w)
	if w.steps <= maxSteps {
		w.out.Doubts = doubts
	}
}

// literal is a string in code.
type literal struct {
	text    string
	follows bool // only a comma stands between it and the one before
}

// literals returns the strings in code of most languages: between single quotes,
// double quotes or backticks.
func literals(code string) []literal {
	var out []literal
	end := 0
	for i := 0; i < len(code); i++ {
		quote := code[i]
		if quote != '\'' && quote != '"' && quote != '`' {
			continue
		}
		var b strings.Builder
		j := i + 1
		for ; j < len(code) && code[j] != quote; j++ {
			if code[j] == '\\' && j+1 < len(code) {
				j++
			}
			b.WriteByte(code[j])
		}
		between := strings.TrimSpace(code[end:i])
		out = append(out, literal{b.String(), len(out) > 0 && between == ","})
		i, end = j, min(j+1, len(code))
	}
	return out
}
