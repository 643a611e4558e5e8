package policy

import (
	"sync/atomic"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

// script is the analysed shell command of a call. Policies share it, so they must not change it.
type script struct {
	*shell.Analysis
	text, start, root string
}

// lastScript caches the analysis of the latest command, because all policies of a set judge the
// same tool call.
type lastScript struct{ at atomic.Pointer[script] }

func (o Options) scripts(meta hooks.Meta, call hooks.ToolCall) (found []*script, known bool) {
	texts, known := commandsOf(call.Args)
	start, root := dirOf(call.Args), o.root(meta)
	for _, text := range texts {
		found = append(found, o.script(text, start, root))
	}
	return found, known
}

func (o Options) script(text, start, root string) *script {
	if o.last != nil {
		if s := o.last.at.Load(); s != nil && s.text == text && s.start == start && s.root == root {
			return s
		}
	}
	s := &script{Analysis: shell.Analyze(text), text: text, start: start, root: root}
	for i := range s.Commands {
		s.Commands[i].Dir = startedIn(start, s.Commands[i].Dir, root)
	}
	for _, files := range [][]shell.File{s.Reads, s.Writes} {
		for i := range files {
			files[i].Dir = startedIn(start, files[i].Dir, root)
		}
	}
	if o.last != nil {
		o.last.at.Store(s)
	}
	return s
}
