package shell

import "mvdan.cc/sh/v3/syntax"

const maxRounds = 8

func (w *walker) loop(c *syntax.ForClause, st *state, in input) {
	w.forgetChanged(c, st)
	iter, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		w.substitutions(c.Loop, st)
		body := st.clone()
		w.stmts(c.Do, body, in)
		st.mergeVars(body)
		return
	}
	var items []Word
	for _, item := range iter.Items {
		w.substitutions(item, st)
		items = append(items, w.expander(st).fields(item)...)
	}
	if len(items) == 0 || len(items) > maxRounds {
		items = []Word{{Text: Hole}}
	}
	before := st.clone()
	for _, item := range items {
		body := before.clone()
		body.set(iter.Name.Value, item.Text, false)
		w.stmts(c.Do, body, in)
		st.mergeVars(body)
	}
}

func (w *walker) forgetChanged(loop syntax.Node, st *state) {
	syntax.Walk(loop, func(n syntax.Node) bool {
		if !w.work.charge(1) {
			return false
		}
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				st.forget(n.Name.Value)
			}
		case *syntax.CallExpr:
			forgetCall(n, st)
		}
		return true
	})
}

func forgetCall(c *syntax.CallExpr, st *state) {
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

func startsJobsForever(loop *syntax.WhileClause) bool {
	if len(loop.Cond) != 1 || loop.Until {
		return false
	}
	call, ok := loop.Cond[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) != 1 {
		return false
	}
	if word := call.Args[0].Lit(); word != "true" && word != ":" {
		return false
	}
	for _, s := range loop.Do {
		if s.Background {
			return true
		}
	}
	return false
}
