package shell

import "strings"

type search struct {
	w  *walker
	st *state
}

// separators end a command in text that the parser rejects. Quoted separators count too, because
// quotes are unreliable in such a text.
const separators = "\n;|&(){}`"

var quotes = strings.NewReplacer(`"`, "", "'", "", `\`, "")

func (s search) lines(text string) {
	st := s.st.clone()
	mark := s.w.functions.mark() // an alias in text adds a function
	for piece := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		var argv []Word
		for field := range strings.FieldsSeq(piece) {
			field, _, variable := strings.Cut(quotes.Replace(field), "$")
			if variable {
				field += Hole
			}
			if field != "" {
				argv = append(argv, Word{Text: field, Glob: strings.ContainsAny(field, "*?[")})
			}
		}
		for len(argv) > 0 && (isAssignment(argv[0].Text) || keywords[argv[0].Text]) {
			argv = argv[1:]
		}
		s.w.run(argv, st, input{})
	}
	s.w.uncalled(mark, st)
}

var keywords = set("! if then elif else do while until time coproc")

func (s search) foreign(code string) {
	if len(code) > MaxText {
		s.w.out.doubt(DoubtTooLarge)
		return
	}
	if !s.w.work.charge(len(code) / codePerWork) {
		return
	}
	s.w.out.Code = append(s.w.out.Code, code)
	if removesTrees.MatchString(code) || startsUnknown(code) {
		s.w.out.doubt(DoubtCode)
	}
	writes, reads := s.w.out.Writes, s.w.out.Reads
	s.command(code)
	s.w.out.Writes, s.w.out.Reads = writes, reads // ">" and "<" compare numbers in other languages
	if !callsOut.MatchString(code) {
		return
	}
	var group []Word
	for _, lit := range literals(code) {
		s.command(lit.text)
		if !lit.follows && len(group) > 0 {
			s.program(group)
			group = nil
		}
		group = append(group, Word{Text: lit.text})
	}
	s.program(group)
}

func (s search) command(text string) {
	if !strings.Contains(text, " ") || !s.w.work.charge(len(text)/textPerWork) {
		return
	}
	if file, ok := parse(fill(text)); ok {
		s.tentatively(func() { s.w.stmts(file.Stmts, s.st.child(), input{}) })
	}
}

func (s search) program(argv []Word) {
	s.tentatively(func() { s.w.run(argv, s.st.child(), input{}) })
}

func (s search) tentatively(f func()) {
	doubts := s.w.out.Doubts
	f()
	if !s.w.work.exhausted() {
		s.w.out.Doubts = doubts
	}
}
