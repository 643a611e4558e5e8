package policy

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

// Policies share a script, so they must not change it.
type script struct {
	*shell.Analysis
	text, start, root string

	writeOnce sync.Once
	writeList []shell.File
}

type lastCall struct {
	args    atomic.Pointer[decoded]
	scripts atomic.Pointer[scriptList]
}

type decoded struct {
	args    hooks.JSON
	members map[string]any // nil if args is not an object
}

type scriptList struct {
	args  hooks.JSON
	root  string
	found []*script
	known bool
}

// Callers must not change the result, because policies share it.
func (o Options) members(args hooks.JSON) map[string]any {
	if o.last != nil {
		if d := o.last.args.Load(); d != nil && d.args == args {
			return d.members
		}
	}
	m, err := args.Map()
	if err != nil {
		m = nil
	}
	if o.last != nil {
		o.last.args.Store(&decoded{args, m})
	}
	return m
}

func (o Options) scripts(meta hooks.Meta, call hooks.ToolCall) (found []*script, known bool) {
	root := o.root(meta)
	if o.last != nil {
		if l := o.last.scripts.Load(); l != nil && l.args == call.Args && l.root == root {
			return l.found, l.known
		}
	}
	m := o.members(call.Args)
	texts, known := commandsOf(m)
	start := dirOf(m)
	for _, text := range texts {
		found = append(found, newScript(text, start, root))
	}
	if o.last != nil {
		o.last.scripts.Store(&scriptList{call.Args, root, found, known})
	}
	return found, known
}

func newScript(text, start, root string) *script {
	s := &script{Analysis: shell.Analyze(text), text: text, start: start, root: root}
	for i := range s.Commands {
		s.Commands[i].Dir = startedIn(start, s.Commands[i].Dir, root)
	}
	for _, files := range [][]shell.File{s.Reads, s.Writes} {
		for i := range files {
			files[i].Dir = startedIn(start, files[i].Dir, root)
		}
	}
	return s
}

// tooLong denies instead of asking, because a person cannot see which part of the command no policy
// has judged.
func tooLong(scripts []*script) *hooks.ToolDecision {
	if slices.ContainsFunc(scripts, func(s *script) bool { return s.Has(shell.DoubtTooLong) }) {
		return hooks.DenyTool(longReason("Shell command", string(shell.DoubtTooLong)))
	}
	return nil
}

func longReason(title, what string) string {
	return title + " blocked: " + what + ". Use several shorter calls."
}
