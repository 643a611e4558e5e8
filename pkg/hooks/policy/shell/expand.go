package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// maxBraces is how many words one word may become.
const maxBraces = 64

// fields returns the words that word becomes: braces, variables and quotes are
// resolved as far as they are known.
func (w *walker) fields(word *syntax.Word, st *state) []Word {
	if word == nil {
		return nil
	}
	var out []Word
	for _, parts := range braces(word) {
		e := expander{w: w, st: st}
		e.parts(parts, false)
		e.end()
		out = append(out, e.out...)
	}
	return out
}

// literal returns what word becomes where it is not split: in an assignment, as
// the name of a file.
func (w *walker) literal(word *syntax.Word, st *state) string {
	if word == nil {
		return ""
	}
	e := expander{w: w, st: st, whole: true}
	e.parts(word.Parts, false)
	return e.text.String()
}

// document returns the text of a here-document.
func (w *walker) document(word *syntax.Word, st *state) string {
	if word == nil {
		return ""
	}
	e := expander{w: w, st: st, whole: true}
	e.parts(word.Parts, true)
	return e.text.String()
}

// braces returns the alternatives of word, as parts.
func braces(word *syntax.Word) [][]syntax.WordPart {
	open := 0
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			open += strings.Count(lit.Value, "{")
		}
	}
	split := &syntax.Word{Parts: slices.Clone(word.Parts)}
	if open > 0 && open <= maxBraces && !syntax.SplitBraces(split) || open == 0 {
		return [][]syntax.WordPart{word.Parts}
	}
	if all, ok := alternatives(split.Parts); ok && open <= maxBraces {
		return all
	}
	hole := &syntax.ParamExp{Param: &syntax.Lit{Value: holeName}}
	return [][]syntax.WordPart{{hole}}
}

// alternatives returns what parts with braces stand for; false if that is too
// much.
func alternatives(parts []syntax.WordPart) ([][]syntax.WordPart, bool) {
	all := [][]syntax.WordPart{nil}
	for _, part := range parts {
		choices, ok := choicesOf(part)
		if !ok || len(all)*len(choices) > maxBraces {
			return nil, false
		}
		var next [][]syntax.WordPart
		for _, head := range all {
			for _, tail := range choices {
				next = append(next, slices.Concat(head, tail))
			}
		}
		all = next
	}
	return all, true
}

func choicesOf(part syntax.WordPart) ([][]syntax.WordPart, bool) {
	b, ok := part.(*syntax.BraceExp)
	switch {
	case !ok:
		return [][]syntax.WordPart{{part}}, true
	case b.Sequence:
		return [][]syntax.WordPart{{&syntax.Lit{Value: "0"}}}, true // a number or a letter
	}
	var choices [][]syntax.WordPart
	for _, elem := range b.Elems {
		inner, ok := alternatives(elem.Parts)
		if !ok {
			return nil, false
		}
		choices = append(choices, inner...)
	}
	return choices, true
}

// expander builds words out of parts.
type expander struct {
	w     *walker
	st    *state
	whole bool // values are not split into words
	out   []Word
	text  strings.Builder
	word  Word
	begun bool // a word has begun, empty though it may be
}

// end closes the word that is being built.
func (e *expander) end() {
	if e.begun {
		e.word.Text = e.text.String()
		e.out = append(e.out, e.word)
	}
	e.text.Reset()
	e.word, e.begun = Word{}, false
}

func (e *expander) add(text string) {
	if e.begun = true; !e.w.spend(len(text)) {
		text = Hole
	}
	e.text.WriteString(text)
}

func (e *expander) parts(parts []syntax.WordPart, quoted bool) {
	for i, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			e.lit(p.Value, quoted, i == 0 && !quoted)
		case *syntax.SglQuoted:
			e.add(unquote(p))
		case *syntax.DblQuoted:
			e.begun = true
			e.parts(p.Parts, true)
		case *syntax.ParamExp:
			e.expansion(p, quoted)
		case *syntax.CmdSubst:
			e.output(p)
		case *syntax.ArithmExp:
			e.add("0")
		case *syntax.ProcSubst:
			e.add(Hole)
			e.word.proc = true
		case *syntax.ExtGlob:
			e.add("*")
			e.word.Glob = true
		default:
			e.add(Hole)
		}
	}
}

// lit adds literal text without its backslashes.
func (e *expander) lit(s string, quoted, first bool) {
	if first && strings.HasPrefix(s, "~") {
		s = e.tilde(s[1:])
	}
	if !quoted {
		e.word.Glob = e.word.Glob || strings.ContainsAny(s, "*?[")
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\\n", s[i+1]) >= 0) {
			if i++; s[i] == '\n' {
				continue
			}
			c = s[i]
		}
		b.WriteByte(c)
	}
	e.add(b.String())
}

// tilde adds a home directory and returns what stands behind it. The home of
// another user is taken for one beside the user's own.
func (e *expander) tilde(s string) string {
	user, _, _ := strings.Cut(s, "/")
	if e.add(HomeDir); user != "" {
		e.add("/../" + user)
	}
	return s[len(user):]
}

// param returns what a parameter expansion becomes.
func (e *expander) param(p *syntax.ParamExp) string {
	switch {
	case p.Param == nil || transforms(p):
		return Hole
	case p.Length || p.Width || p.IsSet:
		return "0"
	}
	text := e.st.lookup(p.Param.Value)
	if p.Exp == nil {
		return text
	}
	if keeps[p.Exp.Op] && text != "" && text != Hole {
		return text
	}
	e.word.Open = e.word.Open || e.opens(p.Exp)
	return Hole
}

// opens tells whether what "${x:-y}" has instead of a value leads elsewhere.
func (e *expander) opens(x *syntax.Expansion) bool {
	if x.Op == syntax.ErrorUnset || x.Op == syntax.ErrorUnsetOrNull { // a message
		return false
	}
	instead := e.w.literal(x.Word, e.st)
	return strings.Contains(instead, "..") || strings.Contains(instead, Hole)
}

// keeps holds the operators that leave a value alone.
var keeps = map[syntax.ParExpOperator]bool{
	syntax.ErrorUnset: true, syntax.ErrorUnsetOrNull: true,
	syntax.DefaultUnset: true, syntax.DefaultUnsetOrNull: true,
	syntax.AssignUnset: true, syntax.AssignUnsetOrNull: true,
}

// transforms tells whether an expansion makes something else of the value.
func transforms(p *syntax.ParamExp) bool {
	return p.Excl || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 ||
		len(p.Modifiers) > 0 || p.Flags != nil || p.NestedParam != nil
}

// output adds what a command substitution is known to print: a fresh temporary
// file or directory.
func (e *expander) output(c *syntax.CmdSubst) {
	if len(c.Stmts) == 1 {
		if call, ok := c.Stmts[0].Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 && call.Args[0].Lit() == "mktemp" {
			e.add(TempDir + "/fresh")
			return
		}
	}
	e.add(Hole)
	e.word.Open = true
}

// unquote returns the text of single quotes, with the escapes of $'…' decoded.
func unquote(q *syntax.SglQuoted) string {
	if !q.Dollar {
		return q.Value
	}
	text, _, err := expand.Format(nil, q.Value, nil) // without arguments, "%" is nothing special
	if err != nil {
		return Hole
	}
	return strings.ReplaceAll(text, Hole, "")
}
