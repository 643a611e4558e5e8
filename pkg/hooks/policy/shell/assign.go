package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (w *walker) assign(a *syntax.Assign, st *state, exported bool) {
	w.substitutions(a.Value, st)
	w.substitutions(a.Array, st)
	if a.Index != nil {
		w.substitutions(a.Index, st)
	}
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	switch {
	case a.Naked:
		if exported {
			st.export(name)
		}
	case a.Array != nil || a.Index != nil:
		st.forget(name)
	default:
		text := w.expander(st).literal(a.Value)
		if a.Append {
			text = st.lookup(name) + text
		}
		if startsPrograms[name] {
			search{w, st}.command(text)
		}
		st.set(name, text, exported)
	}
}

func (w *walker) declare(d *syntax.DeclClause, st *state) {
	exported := d.Variant.Value == "export"
	for _, a := range d.Args {
		if a.Naked && a.Name == nil && a.Value != nil {
			option := w.expander(st).literal(a.Value)
			exported = exported || strings.HasPrefix(option, "-") && strings.Contains(option, "x")
			if strings.HasPrefix(option, "-") && strings.Contains(option, "n") { // -n declares a reference to another variable
				w.out.doubt(DoubtCode)
			}
		}
		w.assign(a, st, exported)
	}
}

// forgets lists builtins that set variables to unknown values.
var forgets = set("read unset mapfile readarray getopts printf export local declare typeset readonly")

var startsPrograms = set("GIT_SSH_COMMAND GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_EXTERNAL_DIFF GIT_ASKPASS " +
	"PAGER MANPAGER EDITOR VISUAL BROWSER PROMPT_COMMAND LESSOPEN")

func forgetArgs(args []Word, st *state) {
	for _, a := range args {
		name, _, _ := strings.Cut(a.Text, "=")
		if len(name) > 2 && name[0] == '-' {
			name = name[2:]
		}
		if syntax.ValidName(name) {
			st.forget(name)
		}
	}
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && syntax.ValidName(name)
}
