package hooks

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Option sets how a hook is chosen, run and ordered.
type Option func(*settings)

// FailureMode is what happens when a hook fails: returns an error, panics,
// misses its deadline, answers what cannot be used.
type FailureMode uint8

// The failure modes. Without [OnFailure] a hook of [MessageCreate],
// [MessageUpdate] and [ToolResultStore] blocks and every other one warns.
const (
	// Warn logs the failure and goes on as if the hook had no opinion.
	Warn FailureMode = iota + 1
	// Block denies, or prevents what the value was for, and ends the chain; at
	// [ToolResultStore] it stores a marker instead of the result. At [Error] it
	// refuses to retry, and the others are asked all the same. Where there is nothing to block, at [SessionStart] and the
	// notifications, it is Warn.
	Block
	// Ignore goes on without a word in the log; the execution is recorded all
	// the same.
	Ignore
)

// String returns the name that configuration files use.
func (m FailureMode) String() string {
	switch m {
	case Warn:
		return "warn"
	case Block:
		return "block"
	case Ignore:
		return "ignore"
	}
	return "default"
}

// Isolation is how far a hook is kept away from who dispatches.
type Isolation uint8

// The levels of isolation.
const (
	// Pooled runs the hook beside the caller, together with its neighbours in
	// the chain. At its deadline it is abandoned: the caller goes on without it,
	// and what it still answers is discarded and recorded. The default.
	Pooled Isolation = iota
	// Inline runs the hook on the caller's own goroutine. It is fastest, and
	// for trusted code: a panic is caught, but a hook that does not end stalls the
	// caller, and one that ends its goroutine ends the caller's. Notifications that are inline run one after the other.
	Inline
	// External is Pooled for what asks another process: at its deadline the
	// context ends, and the hook has [Grace] to clean up before it is abandoned.
	External
)

// String returns the name of the level.
func (i Isolation) String() string {
	switch i {
	case Pooled:
		return "pooled"
	case Inline:
		return "inline"
	case External:
		return "external"
	}
	return "unknown"
}

// DefaultTimeout is the deadline of a hook that has no other.
const DefaultTimeout = 5 * time.Second

// DefaultChainTimeout is the time for all hooks of one dispatch together.
const DefaultChainTimeout = 30 * time.Second

// Grace is how much longer than its deadline an [External] hook may take to
// clean up. Its answer is too late all the same.
const Grace = 250 * time.Millisecond

// Name names the hook in executions, errors and lists.
func Name(name string) Option { return func(s *settings) { s.name = name } }

// Priority orders the hooks of a point: lower first, 0 by default. Hooks of the
// same priority run in the order of their registration.
func Priority(priority int) Option { return func(s *settings) { s.priority = priority } }

// Match calls the hook only where m matches. Given twice, both have to.
func Match(m Matcher) Option {
	return func(s *settings) { s.matchers = append(s.matchers, m) }
}

// WhenSuccess calls the hook only for what succeeded; for points that tell:
// [ToolResult], [StepFinished], [RunFinished], [SubagentStopped].
func WhenSuccess() Option { return func(s *settings) { s.when = success } }

// WhenFailure calls the hook only for what failed; see [WhenSuccess].
func WhenFailure() Option { return func(s *settings) { s.when = failure } }

// Timeout is the hook's deadline. What is not positive means the registry's.
func Timeout(d time.Duration) Option { return func(s *settings) { s.timeout = d } }

// OnFailure sets what happens when the hook fails.
func OnFailure(m FailureMode) Option { return func(s *settings) { s.onFailure = m } }

// Async lets the dispatch go on without waiting. What the hook returns does not
// count; how it ended is recorded as hook.executed. Only notifications and
// transforms after the fact can be asynchronous.
func Async() Option { return func(s *settings) { s.async = true } }

// Enabled asks enabled before each call whether to call the hook, under the
// hook's deadline and as part of it: one that panics fails the hook.
func Enabled(enabled func(context.Context, Meta) bool) Option {
	return func(s *settings) { s.enabled = append(s.enabled, enabled) }
}

// Isolate sets how far the hook is kept away from the caller.
func Isolate(level Isolation) Option { return func(s *settings) { s.isolation = level } }

// settings are what the options set.
type settings struct {
	name      string
	priority  int
	matchers  []Matcher
	when      ending
	timeout   time.Duration
	onFailure FailureMode
	async     bool
	enabled   []func(context.Context, Meta) bool
	isolation Isolation
}

// ending is how something ended.
type ending uint8

const (
	unknown ending = iota // or: does not matter
	success
	failure
)

var (
	errAsyncLost  = errors.New("async: the decision would be lost")
	errAsync      = errors.New("async: what it returns is needed before the point can go on")
	errWhen       = errors.New("when: the point does not tell success from failure")
	errTool       = errors.New("match: the point is not about a tool call")
	errNoRegistry = errors.New("no registry")
	errNoHook     = errors.New("no function")
	errOption     = errors.New("option without a value that exists")
)

// check says what of s makes no sense at the point.
func (s *settings) check(info *pointInfo) error {
	switch {
	case s.async && !info.async && info.class == DecisionClass:
		return errAsyncLost
	case s.async && !info.async:
		return errAsync
	case s.when != unknown && !info.reportsSuccess:
		return errWhen
	case !info.tool && slices.ContainsFunc(s.matchers, matchesTool):
		return errTool
	}
	return s.checkValues()
}

// checkValues says which option has a value that cannot be used.
func (s *settings) checkValues() error {
	if s.onFailure > Ignore || s.isolation > External {
		return errOption
	}
	if slices.Contains(s.matchers, nil) {
		return errOption
	}
	if slices.ContainsFunc(s.enabled, func(f func(context.Context, Meta) bool) bool { return f == nil }) {
		return errOption
	}
	return nil
}
