package hooks

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"
)

// hook is a registered hook. Only its two counters change after registration.
type hook struct {
	settings

	id         ID
	info       *pointInfo
	fn         any     // the function type depends on the point
	globs      []*glob // matchers of this package, which the caller evaluates
	registered time.Time

	abandoned atomic.Int32 // executions that were abandoned and still run
	running   atomic.Int32 // asynchronous executions that still run
}

// prepare validates the settings and fills in defaults.
func (h *hook) prepare(opts Options) error {
	if h.fn == nil {
		return errNoHook
	}
	if err := h.check(h.info); err != nil {
		return err
	}
	if h.timeout <= 0 {
		h.timeout = opts.Timeout
	}
	if h.onFailure == 0 {
		h.onFailure = Warn
		if h.info.blocks {
			h.onFailure = Block
		}
	}
	if h.onFailure == Block && h.info.cannotBlock {
		h.onFailure = Warn
	}
	rest := h.matchers[:0:0]
	for _, m := range h.matchers {
		rest = h.split(m, rest)
	}
	h.matchers = rest
	return nil
}

// split adds m to the globs, or to rest if m is not from this package.
func (h *hook) split(m Matcher, rest []Matcher) []Matcher {
	switch m := m.(type) {
	case *glob:
		h.globs = append(h.globs, m)
	case allOf:
		for _, m := range m {
			rest = h.split(m, rest)
		}
	default:
		rest = append(rest, m)
	}
	return rest
}

// applies reports whether the hook's condition and globs match the dispatch.
// The other matchers run as part of the execution.
func (h *hook) applies(meta *Meta, tool string, end ending) bool {
	if h.when != unknown && h.when != end {
		return false
	}
	for _, g := range h.globs {
		if !g.match(meta, tool) {
			return false
		}
	}
	return true
}

// selective reports whether the hook has custom matchers or Enabled functions.
func (h *hook) selective() bool { return len(h.matchers)+len(h.enabled) > 0 }

// label returns the name of the hook for people.
func (h *hook) label() string {
	if h.name != "" {
		return h.name
	}
	return string(h.id)
}

func (h *hook) describe() Registration {
	d := Registration{
		ID: h.id, Name: h.name, Point: h.info.kind, Class: h.info.class, Priority: h.priority, Agent: "*", Tool: "*",
		Timeout: h.timeout, OnFailure: h.onFailure, Async: h.async, Isolation: h.isolation, Registered: h.registered,
	}
	for _, g := range h.globs {
		switch g.of {
		case globAgent:
			d.Agent = g.pattern
		case globTool:
			d.Tool = g.pattern
		case globRunType:
		}
	}
	return d
}

// chain holds the hooks of one point in the order in which they run.
// Registration replaces it and never changes it.
type chain struct {
	hooks    []*hook // the dispatch waits for them
	async    []*hook // the dispatch does not wait for them
	shortest time.Duration
}

// newChain returns the chain of a point, or nil if the point has no hooks.
func newChain(hooks []*hook, info *pointInfo) *chain {
	c := &chain{}
	for _, h := range hooks {
		switch {
		case h.info != info:
		case h.async:
			c.async = append(c.async, h)
		default:
			c.hooks = append(c.hooks, h)
		}
	}
	if len(c.hooks)+len(c.async) == 0 {
		return nil
	}
	byPriority := func(a, b *hook) int { return cmp.Compare(a.priority, b.priority) }
	slices.SortStableFunc(c.hooks, byPriority)
	slices.SortStableFunc(c.async, byPriority)
	for _, h := range c.hooks {
		if c.shortest == 0 || h.timeout < c.shortest {
			c.shortest = h.timeout
		}
	}
	return c
}

// list returns the hooks that the dispatch waits for.
func (c *chain) list() []*hook {
	if c == nil {
		return nil
	}
	return c.hooks
}

// hasAsync reports whether there are asynchronous hooks.
func (c *chain) hasAsync() bool { return c != nil && len(c.async) > 0 }
