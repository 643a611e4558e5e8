package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

type function struct {
	name   string
	body   *syntax.Stmt
	st     *state // the state of the shell at the definition
	called bool
	active bool // a call of the function is being analysed, so another call is recursive
}

type functions struct{ list []*function }

func (fs *functions) define(name string, body *syntax.Stmt, st *state) {
	fs.list = append(fs.list, &function{name: name, body: body, st: st.clone()})
}

func (fs *functions) named(name string) *function {
	for _, f := range slices.Backward(fs.list) {
		if f.name == name {
			return f
		}
	}
	return nil
}

func (fs *functions) mark() int { return len(fs.list) }

func (fs *functions) drop(mark int) { fs.list = fs.list[:mark] }
