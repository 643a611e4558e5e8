package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// walker follows a syntax tree and writes down what it finds.
type walker struct {
	out       *Analysis
	depth     int // scripts and substitutions around what is walked
	steps     int
	bytes     int // expanded and parsed
	functions []*function
}

// function is one that the script defines.
type function struct {
	name   string
	body   *syntax.Stmt
	st     *state // where it was defined
	called bool
	active bool // is being followed
}

// enter begins one piece of work and tells whether there may be more; leave
// ends it.
func (w *walker) enter() bool {
	w.steps++
	if w.steps > maxSteps || w.depth >= maxDepth {
		w.out.doubt(DoubtTooLarge)
		return false
	}
	w.depth++
	return true
}

func (w *walker) leave() { w.depth-- }

// spend counts bytes and tells whether there may be more.
func (w *walker) spend(n int) bool {
	if w.bytes += n; w.bytes > maxBytes {
		w.out.doubt(DoubtTooLarge)
		return false
	}
	return true
}

func (w *walker) stmts(list []*syntax.Stmt, st *state) {
	for _, s := range list {
		w.stmt(s, st, input{})
	}
}

// define notes a function; one without a name is for zsh to call at once.
func (w *walker) define(f *syntax.FuncDecl, st *state) {
	names := f.Names
	if f.Name != nil {
		names = append(names, f.Name)
	}
	if len(names) == 0 {
		w.stmt(f.Body, st, input{})
	}
	for _, name := range names {
		w.functions = append(w.functions, &function{name: name.Value, body: f.Body, st: st.clone()})
	}
}

// uncalled follows the functions defined since mark that nothing called: something
// else may.
func (w *walker) uncalled(mark int, st *state) {
	for i := mark; i < len(w.functions); i++ {
		if f := w.functions[i]; !f.called {
			f.st.mergeVars(st)
			w.stmt(f.body, f.st, input{})
		}
	}
	w.functions = w.functions[:mark]
}

// callFunction follows a call of a function of the script. A function that calls itself
// is followed once.
func (w *walker) callFunction(name string, args []Word, st *state, in input) bool {
	for _, f := range slices.Backward(w.functions) {
		if f.name != name {
			continue
		}
		if !f.active {
			f.called, f.active = true, true
			st.positional(args)
			w.stmt(f.body, st, in)
			st.positional(nil)
			f.active = false
		}
		return true
	}
	return false
}

// stmt follows one statement. in is what its standard input holds, unless it is
// redirected.
func (w *walker) stmt(s *syntax.Stmt, st *state, in input) {
	if s == nil || !w.enter() {
		return
	}
	defer w.leave()
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
		w.stmtsWith(cmd.Stmts, st.clone(), in)
	case *syntax.Block:
		w.stmtsWith(cmd.Stmts, st, in)
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

// stmtsWith gives each statement the same input: any of them may read it.
func (w *walker) stmtsWith(list []*syntax.Stmt, st *state, in input) {
	for _, s := range list {
		w.stmt(s, st, in)
	}
}

// compound follows the statements that branch or repeat.
func (w *walker) compound(cmd syntax.Command, st *state, in input) {
	switch cmd := cmd.(type) {
	case *syntax.IfClause:
		w.branch(cmd, st, in)
	case *syntax.WhileClause:
		w.loses(cmd, st)
		w.stmtsWith(cmd.Cond, st, in)
		body := st.clone()
		w.stmtsWith(cmd.Do, body, in)
		st.mergeVars(body)
	case *syntax.ForClause:
		w.loop(cmd, st, in)
	case *syntax.CaseClause:
		w.nested(cmd.Word, st)
		before := st.clone()
		for _, item := range cmd.Items {
			for _, p := range item.Patterns {
				w.nested(p, st)
			}
			branch := before.clone()
			w.stmtsWith(item.Stmts, branch, in)
			st.merge(branch)
		}
	default: // arithmetic, tests: nothing runs but substitutions
		w.nested(cmd, st)
	}
}

func (w *walker) branch(c *syntax.IfClause, st *state, in input) {
	w.stmtsWith(c.Cond, st, in)
	other := st.clone()
	w.stmtsWith(c.Then, st, in)
	switch {
	case c.Else != nil:
		w.branch(c.Else, other, in)
		st.merge(other)
	case len(c.Cond) > 0: // no "else": nothing may have run
		st.merge(other)
	}
}

func (w *walker) binary(c *syntax.BinaryCmd, st *state, in input) {
	if c.Op != syntax.AndStmt && c.Op != syntax.OrStmt { // pipes: both sides are subshells, but for zsh the last
		w.stmt(c.X, st.clone(), in)
		last := st.clone()
		w.stmt(c.Y, last, w.output(c.X, st, in))
		st.mergeVars(last)
		return
	}
	w.stmt(c.X, st, in)
	after := st.clone()
	w.stmt(c.Y, after, in)
	if c.Op == syntax.AndStmt { // "cd x && …" is meant to go on in x
		st.dir = after.dir
	}
	st.merge(after)
}

// nested follows the commands inside of words: substitutions, wherever they
// stand. Each is a subshell.
func (w *walker) nested(node syntax.Node, st *state) {
	if isNil(node) {
		return
	}
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			w.stmts(n.Stmts, st.clone())
			return false
		case *syntax.ProcSubst:
			in := input{}
			if n.Op == syntax.CmdOut {
				in.kind = inputPipe
			}
			w.stmtsWith(n.Stmts, st.clone(), in)
			return false
		}
		return true
	})
}

// isNil tells whether node holds a nil pointer, which [syntax.Walk] does not
// take.
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
