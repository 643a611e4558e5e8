package shell

import (
	"slices"
	"strings"
)

const (
	maxFed     = 16  // lines or words
	maxFedText = 256 // bytes of one line
)

func feed(words []Word, token, text string) ([]Word, bool) {
	if len(text) > maxFedText {
		text = Hole
	}
	out, done := slices.Clone(words), false
	for i, word := range out {
		if strings.Contains(word.Text, token) {
			out[i].Fed = word.Text == token
			out[i].Text = strings.ReplaceAll(word.Text, token, text)
			done = true
		}
	}
	return out, done
}

func (in input) lines() []string {
	var lines []string
	for line := range strings.Lines(in.text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if in.kind != inputText || len(lines) == 0 || len(lines) > maxFed {
		return []string{Hole}
	}
	return lines
}

func (in input) words() []Word {
	fields := strings.Fields(strings.NewReplacer(`"`, "", "'", "", Hole, " "+Hole).Replace(in.text))
	if in.kind != inputText || len(fields) == 0 || len(fields) > maxFed {
		fields = []string{Hole}
	}
	words := make([]Word, len(fields))
	for i, f := range fields {
		words[i] = Word{Text: f, Fed: true}
	}
	return words
}

func (p *process) xargs() {
	inner, token := xargsProgram(p.args)
	switch {
	case len(inner) == 0: // without a program, xargs runs echo
	case token == "":
		p.w.run(slices.Concat(inner, p.in.words()), p.st.child(), input{})
	default:
		for _, line := range p.in.lines() {
			argv, _ := feed(inner, token, line)
			p.w.run(argv, p.st.child(), input{})
		}
	}
}

var xargsOptions = options{
	short: "adEILnPRsSJ", attached: "iel",
	long: " --arg-file --delimiter --max-args --max-chars --max-procs --process-slot-var ",
}

func xargsProgram(args []Word) (inner []Word, token string) {
	for {
		opt, rest, ok := xargsOptions.next(args)
		if !ok {
			return rest, token
		}
		switch last := opt.last(); {
		case opt.long == "--replace", last == 'i':
			token = orBraces(opt.value.Text)
		case last == 'I', last == 'J':
			token = opt.value.Text
		}
		args = rest
	}
}

func orBraces(token string) string {
	if token == "" {
		return "{}"
	}
	return token
}

var parallelOptions = options{
	short: "aCdEIjLlNnPsS",
	long: " --arg-file --arg-sep --colsep --delimiter --env --jobs --joblog --load --max-args --max-procs --memfree " +
		"--nice --results --retries --sshlogin --sshloginfile --tempdir --timeout --tmpdir --workdir --wd ",
}

func (p *process) parallel() {
	args := p.args
	for more := true; more; {
		_, args, more = parallelOptions.next(args)
	}
	lines := p.in.lines()
	if i := slices.IndexFunc(args, func(a Word) bool { return strings.HasPrefix(a.Text, ":::") }); i >= 0 {
		lines = given(args[i:])
		args = args[:i]
	}
	for _, line := range lines {
		p.parallelLine(args, line)
	}
}

func (p *process) parallelLine(args []Word, line string) {
	st := p.st.child()
	switch {
	case len(args) > 0:
	case line == Hole:
		p.w.out.doubt(DoubtCode)
		return
	default:
		p.w.script(line, st)
		return
	}
	argv, placed := feed(args, "{}", line)
	if !placed {
		argv = append(argv, Word{Text: line, Fed: true})
	}
	p.w.run(argv, st, input{})
	if len(args) == 1 && strings.Contains(args[0].Text, " ") {
		p.w.script(join(argv), st)
	}
}

func given(args []Word) []string {
	if args[0].Text != ":::" && args[0].Text != ":::+" {
		return []string{Hole} // "::::" reads lines from unknown files
	}
	var lines []string
	for _, a := range args {
		if !strings.HasPrefix(a.Text, ":::") {
			lines = append(lines, a.Text)
		}
	}
	if len(lines) == 0 || len(lines) > maxFed {
		return []string{Hole}
	}
	return lines
}
