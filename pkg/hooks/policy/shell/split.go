package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (e *expander) expansion(p *syntax.ParamExp, quoted bool) {
	if listed(p) && e.st.params != nil {
		e.parameters(p.Param.Value, quoted)
		return
	}
	e.value(e.param(p), quoted)
}

func (e *expander) value(text string, quoted bool) {
	if quoted || e.whole || text == Hole {
		e.add(text)
		return
	}
	separators := e.st.lookup("IFS")
	if strings.Contains(separators, Hole) {
		e.add(Hole)
		return
	}
	pieces := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(separators, r) })
	if strings.ContainsAny(text, "*?[") {
		e.word.Glob = true
	}
	if strings.TrimLeft(text, separators) != text {
		e.end()
	}
	for i, piece := range pieces {
		if i > 0 {
			e.end()
		}
		e.add(piece)
	}
	if len(pieces) > 0 && strings.TrimRight(text, separators) != text {
		e.end()
	}
}

func listed(p *syntax.ParamExp) bool {
	return p.Param != nil && (p.Param.Value == "@" || p.Param.Value == "*") &&
		p.Exp == nil && !p.Length && !p.Width && !p.IsSet && !transforms(p)
}

func (e *expander) parameters(name string, quoted bool) {
	for i, word := range e.st.params {
		switch {
		case i == 0:
		case e.whole, quoted && name == "*":
			e.add(" ")
		default:
			e.end()
		}
		e.value(word.Text, quoted)
		e.word.Glob = e.word.Glob || word.Glob
		e.word.Fed = e.word.Fed || word.Fed
		e.word.proc = e.word.proc || word.proc
	}
}
