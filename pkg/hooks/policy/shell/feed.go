package shell

import (
	"slices"
	"strings"
)

// maxFed is how many lines of known input are followed one by one, and
// maxFedText how long they may be.
const (
	maxFed     = 16
	maxFedText = 256
)

// feed puts text where token stands in words, and tells whether it did. A word
// that is nothing but the token is marked as fed.
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

// lines returns the lines of in, or one hole where they are not known.
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

// words returns the words of in, or one hole where they are not known.
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

// xargs follows the program that xargs starts with words of its input.
func (w *walker) xargs(args []Word, st *state, in input) {
	inner, token := xargsProgram(args)
	switch {
	case len(inner) == 0: // it echoes
	case token == "":
		w.run(slices.Concat(inner, in.words()), st.child(), input{})
	default:
		for _, line := range in.lines() {
			argv, _ := feed(inner, token, line)
			w.run(argv, st.child(), input{})
		}
	}
}

var xargsOptions = options{
	short: "adEILnPRsSJ", attached: "iel",
	long: " --arg-file --delimiter --max-args --max-chars --max-procs --process-slot-var ",
}

// xargsProgram returns what stands behind the options of xargs, and the token
// that input takes the place of.
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

// parallel follows GNU parallel: its words are joined and given to a shell with
// each line of input; without words, the lines are what runs.
func (w *walker) parallel(args []Word, st *state, in input) {
	for more := true; more; {
		_, args, more = parallelOptions.next(args)
	}
	lines := in.lines()
	if i := slices.IndexFunc(args, func(a Word) bool { return strings.HasPrefix(a.Text, ":::") }); i >= 0 {
		lines = given(args[i:])
		args = args[:i]
	}
	for _, line := range lines {
		w.parallelLine(args, line, st.child())
	}
}

func (w *walker) parallelLine(args []Word, line string, st *state) {
	switch {
	case len(args) > 0:
	case line == Hole:
		w.out.doubt(DoubtCode)
		return
	default:
		w.script(line, st)
		return
	}
	argv, placed := feed(args, "{}", line)
	if !placed {
		argv = append(argv, Word{Text: line, Fed: true})
	}
	w.run(argv, st, input{})
	if len(args) == 1 && strings.Contains(args[0].Text, " ") {
		w.script(join(argv), st)
	}
}

// given returns the inputs behind ":::".
func given(args []Word) []string {
	if args[0].Text != ":::" && args[0].Text != ":::+" {
		return []string{Hole} // "::::" names files
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
