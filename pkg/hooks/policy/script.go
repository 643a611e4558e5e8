package policy

import (
	"encoding/json"
	"slices"
	"strings"
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
	repeats bool           // a name occurs twice
}

type scriptList struct {
	args  hooks.JSON
	root  string
	found []*script
	known bool
}

// Callers must not change the result, because policies share it.
func (o Options) members(args hooks.JSON) map[string]any { return o.decode(args).members }

func (o Options) decode(args hooks.JSON) *decoded {
	if o.last != nil {
		if d := o.last.args.Load(); d != nil && d.args == args {
			return d
		}
	}
	m, err := args.Map()
	if err != nil {
		m = nil
	}
	d := &decoded{args, m, repeatsName(args)}
	if o.last != nil {
		o.last.args.Store(d)
	}
	return d
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

// repeatsName reports whether a JSON object has a name twice. Readers of JSON differ in which value
// counts.
func repeatsName(args hooks.JSON) bool {
	d := json.NewDecoder(strings.NewReader(string(args)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return false
		}
		if seen[name] {
			return true
		}
		seen[name] = true
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return false
		}
	}
	return false
}
