package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

const maxBraces = 64

type expander struct {
	work  *budget
	st    *state
	whole bool // do not split variables into several words
	out   []Word
	text  strings.Builder
	word  Word
	begun bool // the current word exists, possibly with an empty text
}

func (e *expander) fields(word *syntax.Word) []Word {
	if word == nil {
		return nil
	}
	for _, parts := range braces(word) {
		e.parts(parts, false)
		e.end()
	}
	return e.out
}

func (e *expander) literal(word *syntax.Word) string { return e.unsplit(word, false) }

func (e *expander) document(word *syntax.Word) string { return e.unsplit(word, true) }

func (e *expander) unsplit(word *syntax.Word, quoted bool) string {
	if word == nil {
		return ""
	}
	e.whole = true
	e.parts(word.Parts, quoted)
	return e.text.String()
}

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
		return [][]syntax.WordPart{{&syntax.Lit{Value: "0"}}}, true // one element of {1..9} or {a..z} stands for all
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

func (e *expander) end() {
	if e.begun {
		e.word.Text = e.text.String()
		e.out = append(e.out, e.word)
	}
	e.text.Reset()
	e.word, e.begun = Word{}, false
}

func (e *expander) add(text string) {
	if e.begun = true; !e.work.spend(len(text)) {
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

// tilde assumes that all home directories have the same parent.
func (e *expander) tilde(s string) string {
	user, _, _ := strings.Cut(s, "/")
	if e.add(HomeDir); user != "" {
		e.add("/../" + user)
	}
	return s[len(user):]
}

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
	if keepsValue[p.Exp.Op] && text != "" && text != Hole {
		return text
	}
	e.word.Open = e.word.Open || e.opens(p.Exp)
	return Hole
}

func (e *expander) opens(x *syntax.Expansion) bool {
	if x.Op == syntax.ErrorUnset || x.Op == syntax.ErrorUnsetOrNull { // the text is only an error message
		return false
	}
	instead := (&expander{work: e.work, st: e.st}).literal(x.Word)
	return strings.Contains(instead, "..") || strings.Contains(instead, Hole)
}

var keepsValue = map[syntax.ParExpOperator]bool{
	syntax.ErrorUnset: true, syntax.ErrorUnsetOrNull: true,
	syntax.DefaultUnset: true, syntax.DefaultUnsetOrNull: true,
	syntax.AssignUnset: true, syntax.AssignUnsetOrNull: true,
}

func transforms(p *syntax.ParamExp) bool {
	return p.Excl || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 ||
		len(p.Modifiers) > 0 || p.Flags != nil || p.NestedParam != nil
}

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

func unquote(q *syntax.SglQuoted) string {
	if !q.Dollar {
		return q.Value
	}
	text, _, err := expand.Format(nil, q.Value, nil)
	if err != nil {
		return Hole
	}
	return strings.ReplaceAll(text, Hole, "")
}
