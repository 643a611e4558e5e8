package shell

import "strings"

// separators end a command wherever they stand: in text that does not parse,
// quotes cannot be trusted.
const separators = "\n;|&(){}`"

var quotes = strings.NewReplacer(`"`, "", "'", "", `\`, "")

// loose looks for commands in text that no shell parses: in what stands between
// separators. A shell would refuse such a text, or run the lines before the
// mistake; and what one shell refuses, another one may take.
func (w *walker) loose(text string, st *state) {
	st = st.clone()
	mark := len(w.functions) // aliases
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
		w.run(argv, st, input{})
	}
	w.uncalled(mark, st)
}

var keywords = set("! if then elif else do while until time coproc")
