package hooks

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"
)

// Dispatches share a hook without a lock. Only its counters change.
type hook struct {
	settings

	id         ID
	info       *pointInfo
	fn         any     // its type depends on the point
	globs      []*glob // evaluated before the hook starts
	registered time.Time

	abandoned atomic.Int32 // abandoned executions that still run
	running   atomic.Int32 // asynchronous executions that still run
}

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
		h.onFailure = opts.failureMode(h.info, h.async)
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

func (h *hook) selective() bool { return len(h.matchers)+len(h.enabled) > 0 }

func (h *hook) label() string {
	if h.name != "" {
		return h.name
	}
	return string(h.id)
}

func (h *hook) describe() Registration {
	d := Registration{
		ID: h.id, Name: h.name, Point: h.info.kind, Class: h.info.class, Priority: h.priority, Agent: "*", Tool: "*",
		Timeout: h.timeout, OnFailure: h.onFailure, Async: h.async, Isolation: h.isolation, Last: h.last, Registered: h.registered,
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

// A chain is immutable.
type chain struct {
	hooks    []*hook // hooks for which the dispatch waits
	async    []*hook
	judges   int // index of the first hook with Last
	shortest time.Duration
	total    time.Duration // all timeouts
}

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
	byPriority := func(a, b *hook) int { return cmp.Or(compareBools(a.last, b.last), cmp.Compare(a.priority, b.priority)) }
	slices.SortStableFunc(c.hooks, byPriority)
	slices.SortStableFunc(c.async, byPriority)
	c.judges = len(c.hooks)
	for i, h := range c.hooks {
		c.total += h.timeout
		if h.last {
			c.judges = min(c.judges, i)
		}
		if c.shortest == 0 || h.timeout < c.shortest {
			c.shortest = h.timeout
		}
	}
	return c
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// after returns the index of the next hook after the hook i has ended with state.
func (c *chain) after(i int, state chainState) int {
	switch state {
	case endChain:
		return len(c.hooks)
	case toJudges:
		return max(i+1, c.judges)
	case proceed, abandoned:
	}
	return i + 1
}

func (c *chain) list() []*hook {
	if c == nil {
		return nil
	}
	return c.hooks
}

func (c *chain) hasAsync() bool { return c != nil && len(c.async) > 0 }
