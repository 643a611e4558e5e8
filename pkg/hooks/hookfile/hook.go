package hookfile

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/wire"
)

type hookReader struct {
	*reader
	hook *Hook
	path string // position of the hook, such as "PreToolUse[0]"
	seen map[string]*yaml.Node
}

func (r *reader) hook(n *yaml.Node, h *Hook) {
	hr := &hookReader{reader: r, hook: h, path: h.Name, seen: map[string]*yaml.Node{}}
	entries := r.entries(n, hr.path)
	if entries == nil {
		if n.Kind == yaml.MappingNode {
			r.wrong(n, "%s: empty; want a type, and what it needs", hr.path)
		}
		return
	}
	for _, e := range entries {
		hr.seen[e.name] = e.value
		if e.name == typeKey {
			if word, ok := r.word(e.value, hr.path+".type", typeNames()); ok {
				h.Type = Type(word)
			}
		}
	}
	h.Last = h.Type == MatcherType || h.Type == LLMType // these only judge
	for _, e := range entries {
		hr.read(e)
	}
	hr.complete(n)
}

func (r *hookReader) read(e entry) {
	i := slices.IndexFunc(keys, func(k key) bool { return k.name == e.name })
	if i < 0 {
		r.wrong(e.key, "%s: unknown key %q; %s", r.path, clip(e.name), oneOf(e.name, r.keyNames()))
		return
	}
	k := keys[i]
	if !k.belongsTo(r.hook.Type) {
		r.wrong(e.key, "%s: %s is a key of %s hooks, not of %s ones; leave it out", r.path, e.name, joinTypes(k.types), r.hook.Type)
		return
	}
	if k.read != nil {
		k.read(r, e.value, r.path+"."+e.name)
	}
}

func (r *hookReader) keyNames() []string {
	var names []string
	for _, k := range keys {
		if k.belongsTo(r.hook.Type) {
			names = append(names, k.name)
		}
	}
	return names
}

func (r *hookReader) complete(n *yaml.Node) {
	h := r.hook
	if _, ok := r.seen[typeKey]; !ok {
		r.wrong(n, "%s: no type; want one of %s", r.path, strings.Join(typeNames(), ", "))
		return
	}
	for _, k := range keys {
		if _, ok := r.seen[k.name]; !ok && slices.Contains(k.required, h.Type) {
			r.wrong(n, "%s: a hook of type %s needs %s: %s", r.path, h.Type, k.name, k.about)
		}
	}
	r.checkProvider()
	if h.Point.Kind == "" {
		return
	}
	r.checkAsync()
	r.checkBlocks()
	r.checkDecides(n)
	if match, ok := r.seen[matchKey]; ok && !wire.AboutTool(h.Point.Kind) {
		for _, e := range r.entries(match, r.path+".match") {
			if e.name == "tool" || e.name == "args" {
				r.wrong(e.key, "%s.match: %s is about no tool call, so %s never matches; use when:", r.path, h.Event, e.name)
			}
		}
	}
}

func (r *hookReader) checkProvider() {
	h := r.hook
	if base, ok := r.seen["base_url"]; ok && h.Type == LLMType && h.provider == "" && h.usesAnthropic() {
		r.odd(base, "%s: the protocol of Anthropic is used for %s; write provider: anthropic, or provider: openai for a compatible API", r.path, h.model)
	}
}

func (r *hookReader) checkAsync() {
	h := r.hook
	switch {
	case !h.Async || h.Point.Async:
	case h.Point.Class == hooks.DecisionClass:
		r.wrong(r.seen[asyncKey], "%s.async: the decision would be lost; leave async out", r.path)
	default:
		r.wrong(r.seen[asyncKey], "%s.async: %s goes on with what the hook returns; leave async out", r.path, h.Event)
	}
}

func (r *hookReader) checkBlocks() {
	h := r.hook
	switch {
	case h.OnFailure != hooks.Block || h.canBlock():
	case h.Async:
		r.wrong(r.seen[failureKey], "%s.on_failure: nothing waits for an async hook, so it cannot block; leave async out, or write warn", r.path)
	default:
		r.wrong(r.seen[failureKey], "%s.on_failure: %s cannot be blocked; write warn, or use an event before it", r.path, h.Event)
	}
}

func (r *hookReader) checkDecides(n *yaml.Node) {
	h := r.hook
	if h.Type != MatcherType && h.Type != LLMType {
		return
	}
	if h.Point.Class != hooks.DecisionClass || h.Point.Kind == events.SessionStart || h.Point.Kind == events.Error {
		r.wrong(n, "%s: a hook of type %s allows or denies, and %s cannot be denied; use another type, or an event before it", r.path, h.Type, h.Event)
		return
	}
	if _, ok := r.seen[matchKey]; !ok && h.Type == MatcherType && h.when == nil && r.seen[whenKey] == nil {
		r.wrong(n, "%s: a hook of type matcher needs match: or when:, else it is about everything", r.path)
	}
}

func joinTypes(types []Type) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return strings.Join(names, " and ")
}
