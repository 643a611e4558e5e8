package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// assign follows one assignment.
func (w *walker) assign(a *syntax.Assign, st *state, exported bool) {
	w.nested(a.Value, st)
	w.nested(a.Array, st)
	if a.Index != nil {
		w.nested(a.Index, st)
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
		text := w.literal(a.Value, st)
		if a.Append {
			text = st.lookup(name) + text
		}
		if startsPrograms[name] {
			w.seek(text, st)
		}
		st.set(name, text, exported)
	}
}

// declare follows export, local, declare, readonly and their like.
func (w *walker) declare(d *syntax.DeclClause, st *state) {
	exported := d.Variant.Value == "export"
	for _, a := range d.Args {
		if a.Naked && a.Name == nil && a.Value != nil {
			option := w.literal(a.Value, st)
			exported = exported || strings.HasPrefix(option, "-") && strings.Contains(option, "x")
			if strings.HasPrefix(option, "-") && strings.Contains(option, "n") { // who changes one changes another
				w.out.doubt(DoubtCode)
			}
		}
		w.assign(a, st, exported)
	}
}

// forgets lists builtins that give variables values which cannot be known.
var forgets = map[string]bool{
	"read": true, "unset": true, "mapfile": true, "readarray": true, "getopts": true,
	"printf": true, "export": true, "local": true, "declare": true, "typeset": true, "readonly": true,
}

// startsPrograms lists variables whose value is a command that others start.
var startsPrograms = set("GIT_SSH_COMMAND GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_EXTERNAL_DIFF GIT_ASKPASS " +
	"PAGER MANPAGER EDITOR VISUAL BROWSER PROMPT_COMMAND LESSOPEN")

// forgetArgs forgets each variable that a builtin names, also behind an option:
// "printf -vx".
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

// isAssignment tells whether word would be an assignment before a command.
func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && syntax.ValidName(name)
}
