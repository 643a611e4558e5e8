package hookfile

import (
	"go.yaml.in/yaml/v4"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

var matchKeys = []struct {
	name, about string
	matcher     func(pattern string) (hooks.Matcher, error)
}{
	{"tool", "the tool, by the name that its agent has for it or that all have: Bash is every agent's shell", policy.ForTool},
	{"agent", "the agent", hooks.ForAgent},
	{"run_type", "what the run is for: PLAN, REVIEW, …", hooks.ForRunType},
}

const argsKey = "args"

func matchNames() []string {
	names := []string{argsKey}
	for _, k := range matchKeys {
		names = append(names, k.name)
	}
	return names
}

func (r *hookReader) readMatch(n *yaml.Node, what string) {
	entries := r.entries(n, what)
	if len(entries) == 0 && n.Kind == yaml.MappingNode {
		r.wrong(n, "%s: empty; leave it out, or say what has to match", what)
	}
entries:
	for _, e := range entries {
		if e.name == argsKey {
			r.readArgs(e.value, what+"."+argsKey)
			continue
		}
		for _, k := range matchKeys {
			if k.name == e.name {
				r.pattern(e.value, what+"."+e.name, k.matcher)
				continue entries
			}
		}
		r.wrong(e.key, "%s: unknown key %q; %s", what, clip(e.name), oneOf(e.name, matchNames()))
	}
}

func (r *hookReader) readArgs(n *yaml.Node, what string) {
	entries := r.entries(n, what)
	if len(entries) == 0 && n.Kind == yaml.MappingNode {
		r.wrong(n, "%s: empty; leave it out, or name an argument and its pattern", what)
	}
	for _, e := range entries {
		r.pattern(e.value, what+"."+clip(e.name), func(pattern string) (hooks.Matcher, error) {
			return policy.ForArg(e.name, pattern)
		})
	}
}

func (r *hookReader) pattern(n *yaml.Node, what string, compile func(string) (hooks.Matcher, error)) {
	s, ok := r.text(n, what)
	if !ok {
		return
	}
	m, err := compile(s)
	if err != nil {
		r.wrong(n, "%s: %v", what, err)
		return
	}
	r.hook.match = append(r.hook.match, m)
}
