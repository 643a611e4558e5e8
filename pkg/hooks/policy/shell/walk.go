package shell

import "mvdan.cc/sh/v3/syntax"

type walker struct {
	out       *Analysis
	work      budget
	functions functions
}

func newWalker() *walker {
	out := &Analysis{}
	return &walker{out: out, work: budget{out: out}}
}

func (w *walker) expander(st *state) *expander { return &expander{work: &w.work, st: st} }

func (w *walker) stmts(list []*syntax.Stmt, st *state, in input) {
	for _, s := range list {
		w.stmt(s, st, in)
	}
}

func (w *walker) define(f *syntax.FuncDecl, st *state) {
	names := f.Names
	if f.Name != nil {
		names = append(names, f.Name)
	}
	if len(names) == 0 {
		w.stmt(f.Body, st, input{})
	}
	for _, name := range names {
		w.functions.define(name.Value, f.Body, st)
	}
}

func (w *walker) uncalled(mark int, st *state) {
	for i := mark; i < len(w.functions.list); i++ {
		if f := w.functions.list[i]; !f.called {
			f.st.mergeVars(st)
			w.stmt(f.body, f.st, input{})
		}
	}
	w.functions.drop(mark)
}

func (w *walker) callFunction(name string, args []Word, st *state, in input) bool {
	f := w.functions.named(name)
	if f == nil {
		return false
	}
	if f.active {
		w.out.doubt(DoubtRepeat)
	} else {
		f.called, f.active = true, true
		st.positional(args)
		w.stmt(f.body, st, in)
		st.positional(nil)
		f.active = false
	}
	return true
}

func (w *walker) stmt(s *syntax.Stmt, st *state, in input) {
	if s == nil || !w.work.enter() {
		return
	}
	defer w.work.leave()
	if !w.work.chargeVars(st) {
		return
	}
	in = w.redirects(s.Redirs, st, in)
	if s.Background || s.Coprocess {
		st = st.clone()
	}
	if s.Coprocess {
		in = input{kind: inputPipe}
	}
	w.command(s.Cmd, st, in)
}

func (w *walker) command(cmd syntax.Command, st *state, in input) {
	switch cmd := cmd.(type) {
	case *syntax.CallExpr:
		w.call(cmd, st, in)
	case *syntax.BinaryCmd:
		w.binary(cmd, st, in)
	case *syntax.Subshell:
		w.stmts(cmd.Stmts, st.clone(), in)
	case *syntax.Block:
		w.stmts(cmd.Stmts, st, in)
	case *syntax.FuncDecl:
		w.define(cmd, st)
	case *syntax.DeclClause:
		w.declare(cmd, st)
	case *syntax.TimeClause:
		w.stmt(cmd.Stmt, st, in)
	case *syntax.CoprocClause:
		w.stmt(cmd.Stmt, st.clone(), input{kind: inputPipe})
	case *syntax.TestDecl:
		w.stmt(cmd.Body, st.clone(), input{})
	case nil:
	default:
		w.compound(cmd, st, in)
	}
}

func (w *walker) compound(cmd syntax.Command, st *state, in input) {
	switch cmd := cmd.(type) {
	case *syntax.IfClause:
		w.branch(cmd, st, in)
	case *syntax.WhileClause:
		if startsJobsForever(cmd) {
			w.out.doubt(DoubtRepeat)
		}
		w.forgetChanged(cmd, st)
		w.stmts(cmd.Cond, st, in)
		body := st.clone()
		w.stmts(cmd.Do, body, in)
		st.mergeVars(body)
	case *syntax.ForClause:
		w.loop(cmd, st, in)
	case *syntax.CaseClause:
		w.substitutions(cmd.Word, st)
		before := st.clone()
		for _, item := range cmd.Items {
			for _, p := range item.Patterns {
				w.substitutions(p, st)
			}
			branch := before.clone()
			w.stmts(item.Stmts, branch, in)
			st.merge(branch)
		}
	default: // arithmetic and tests, in which only substitutions start programs
		w.substitutions(cmd, st)
	}
}

func (w *walker) branch(c *syntax.IfClause, st *state, in input) {
	w.stmts(c.Cond, st, in)
	other := st.clone()
	w.stmts(c.Then, st, in)
	switch {
	case c.Else != nil:
		w.branch(c.Else, other, in)
		st.merge(other)
	case len(c.Cond) > 0: // without "else", possibly no branch has run
		st.merge(other)
	}
}

func (w *walker) binary(c *syntax.BinaryCmd, st *state, in input) {
	if c.Op != syntax.AndStmt && c.Op != syntax.OrStmt { // pipe sides are subshells, except the right side in zsh
		w.stmt(c.X, st.clone(), in)
		last := st.clone()
		w.stmt(c.Y, last, w.output(c.X, st, in))
		st.mergeVars(last)
		return
	}
	w.stmt(c.X, st, in)
	after := st.clone()
	w.stmt(c.Y, after, in)
	if c.Op == syntax.AndStmt { // after "cd x && …", the directory is x
		st.dir = after.dir
	}
	st.merge(after)
}

func (w *walker) substitutions(node syntax.Node, st *state) {
	if isNil(node) {
		return
	}
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			w.stmts(n.Stmts, st.clone(), input{})
			return false
		case *syntax.ProcSubst:
			in := input{}
			if n.Op == syntax.CmdOut {
				in.kind = inputPipe
			}
			w.stmts(n.Stmts, st.clone(), in)
			return false
		}
		return true
	})
}

// syntax.Walk accepts neither nil nor an interface that contains a nil pointer.
func isNil(node syntax.Node) bool {
	switch n := node.(type) {
	case nil:
		return true
	case *syntax.Word:
		return n == nil
	case *syntax.ArrayExpr:
		return n == nil
	case *syntax.CStyleLoop:
		return n == nil
	}
	return false
}
