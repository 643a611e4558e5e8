package shell

import (
	"regexp"
	"slices"
	"strings"
)

type interpreter struct {
	letters string // short options whose value is code
	long    string // long options whose value is code, separated by spaces
	first   bool   // the first operand is code
}

var interpreters = map[string]interpreter{
	"python": {letters: "c"}, "pypy": {letters: "c"},
	"perl": {letters: "eE"}, "ruby": {letters: "e"}, "php": {letters: "r"},
	"node": {letters: "ep", long: " --eval --print "}, "nodejs": {letters: "ep", long: " --eval --print "},
	"bun": {letters: "e", long: " --eval "}, "lua": {letters: "e"}, "osascript": {letters: "e"},
	"julia": {letters: "eE", long: " --eval --print "}, "elixir": {letters: "e"}, "tsx": {letters: "e", long: " --eval "}, "ts-node": {letters: "e", long: " --eval "},
	"ipython": {letters: "c"}, "swift": {letters: "e"}, "scala": {letters: "e"}, "tclsh": {}, "expect": {letters: "c"},
	"rscript": {letters: "e"}, "groovy": {letters: "e"},
	"awk": {first: true}, "gawk": {first: true}, "mawk": {first: true}, "nawk": {first: true},
}

func (p *process) interpreter() {
	c, ok := interpreters[strings.TrimRight(p.name, "0123456789.")]
	if !ok {
		return
	}
	if code, ok := c.code(p.args); ok {
		if code.Open && strings.HasPrefix(strings.TrimSpace(code.Text), Hole) { // as in python -c "$(cat file)"
			p.w.out.doubt(DoubtCode)
		}
		search{p.w, p.st}.foreign(code.Text)
		return
	}
	if len(p.args) > 1 && p.args[0].Text == "-m" && strings.HasPrefix(p.name, "py") { // a module with the name of its program
		p.w.run(p.args[1:], p.st, p.in)
		return
	}
	if slices.ContainsFunc(p.args, func(a Word) bool { return a.proc }) {
		p.w.out.doubt(DoubtCode)
	}
	if !c.first && c.reads(p.args) {
		p.readsForeign()
	}
}

func (p *process) readsForeign() {
	switch p.in.kind {
	case inputText:
		search{p.w, p.st}.foreign(p.in.text)
	case inputPipe:
		p.w.out.doubt(DoubtCode)
	case inputInherited, inputFile:
	}
}

func (c interpreter) code(args []Word) (Word, bool) {
	for i, a := range args {
		code, attached, found := c.option(a.Text)
		switch {
		case attached:
			return Word{Text: code, Open: a.Open}, true
		case found && i+1 < len(args):
			return args[i+1], true
		case i > 0 && takesValue[args[i-1].Text]:
		case a.Text == "--" || c.operand(a.Text):
			return a, c.first && a.Text != "--"
		}
	}
	return Word{}, false
}

func (c interpreter) reads(args []Word) bool {
	for i, a := range args {
		switch {
		case a.Text == "-":
			return true
		case onlyPrints[a.Text]:
			return false
		case c.operand(a.Text), strings.HasPrefix(a.Text, "-m"):
			return stdinFiles[a.Text] && i == 0
		}
	}
	return true
}

var takesValue = set("-W -X -r -I -d --require --import -M")

var onlyPrints = set("--version --help -V -v -h --check --test -i")

var stdinFiles = set("/dev/stdin /dev/fd/0 /proc/self/fd/0")

func (interpreter) operand(text string) bool { return !strings.HasPrefix(text, "-") }

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

var callsOut = regexp.MustCompile("(?i)system|popen|subprocess|spawn|exec|child_process|\\bqx\\b|%x|open3|shell|`|\\brun\\b|\\|")

var removesTrees = regexp.MustCompile(`\b(rmtree|rm_rf|rm_r|remove_tree|remove_dir_all|rimraf|removeSync)\b|\b(rm|rmdir)(Sync)?\([^)]*recursive`)

type literal struct {
	text    string
	follows bool // only a comma is between the previous literal and this one
}

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
