package shell

import "mvdan.cc/sh/v3/syntax"

// maxRounds is how many rounds of a loop are followed one by one.
const maxRounds = 8

// loop follows "for": each word of a short list by itself, so that what it does
// with them is known.
func (w *walker) loop(c *syntax.ForClause, st *state, in input) {
	w.loses(c, st)
	iter, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		w.nested(c.Loop, st)
		body := st.clone()
		w.stmtsWith(c.Do, body, in)
		st.mergeVars(body)
		return
	}
	var items []Word
	for _, item := range iter.Items {
		w.nested(item, st)
		items = append(items, w.fields(item, st)...)
	}
	if len(items) == 0 || len(items) > maxRounds {
		items = []Word{{Text: Hole}}
	}
	before := st.clone()
	for _, item := range items {
		body := before.clone()
		body.set(iter.Name.Value, item.Text, false)
		w.stmtsWith(c.Do, body, in)
		st.mergeVars(body)
	}
}

// loses forgets the variables that a loop changes: its first round knows them,
// its second does not.
func (w *walker) loses(loop syntax.Node, st *state) {
	syntax.Walk(loop, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				st.forget(n.Name.Value)
			}
		case *syntax.CallExpr:
			w.losesCall(n, st)
		}
		return true
	})
}

// losesCall forgets what a builtin in a loop changes.
func (w *walker) losesCall(c *syntax.CallExpr, st *state) {
	if len(c.Args) == 0 {
		return
	}
	switch name := c.Args[0].Lit(); {
	case name == "shift", name == "set":
		st.positional(nil)
	case forgets[name]:
		var args []Word
		for _, a := range c.Args[1:] {
			args = append(args, Word{Text: a.Lit()})
		}
		forgetArgs(args, st)
	}
}
