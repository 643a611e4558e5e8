package hooks

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Option configures when and how a hook runs.
type Option func(*settings)

// FailureMode decides how a dispatch treats a failed hook.
type FailureMode uint8

// The failure modes. Hooks of [MessageCreate], [MessageUpdate] and
// [ToolResultStore] default to Block, all others to Warn.
const (
	// Warn logs the failure and treats it as no opinion.
	Warn FailureMode = iota + 1
	// Block denies or prevents the action and ends the chain. At
	// [ToolResultStore] it stores [RedactionFailed] instead of the result. At
	// [Error] it refuses to retry, but the remaining hooks still run. At
	// [SessionStart] and at notification points it acts as Warn.
	Block
	// Ignore records the failure and does not log it.
	Ignore
)

// String returns the name used in configuration files.
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

// Isolation separates a hook from its caller.
type Isolation uint8

// The levels of isolation.
const (
	// Pooled is the default. The hook shares a worker goroutine with its
	// neighbours in the chain. At its deadline it is abandoned.
	Pooled Isolation = iota
	// Inline runs the hook on the caller's goroutine, for trusted code only. A
	// panic is caught, but a hook that never returns stalls the caller, and
	// runtime.Goexit ends the caller. Inline notification hooks run one after the
	// other.
	Inline
	// External is Pooled for hooks that call another process. After the deadline
	// the hook has [Grace] to clean up before it is abandoned.
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

// DefaultTimeout is the timeout of a hook without its own.
const DefaultTimeout = 5 * time.Second

// DefaultChainTimeout limits the total time of all hooks of a dispatch.
const DefaultChainTimeout = 30 * time.Second

// Grace is the time after its deadline in which an [External] hook can clean
// up.
const Grace = 250 * time.Millisecond

// Name sets the hook's name in executions, errors and lists.
func Name(name string) Option { return func(s *settings) { s.name = name } }

// Priority orders the hooks of a point, lower values first. The default is 0.
func Priority(priority int) Option { return func(s *settings) { s.priority = priority } }

// Match calls the hook only if m matches. Several matchers must all match. A
// matcher from [ForTool] is an error at points without a tool call.
func Match(m Matcher) Option {
	return func(s *settings) { s.matchers = append(s.matchers, m) }
}

// WhenSuccess calls the hook only after a success. It is valid at [ToolResult],
// [StepFinished], [RunFinished] and [SubagentStopped].
func WhenSuccess() Option { return func(s *settings) { s.when = success } }

// WhenFailure calls the hook only after a failure. See [WhenSuccess].
func WhenFailure() Option { return func(s *settings) { s.when = failure } }

// Timeout sets the hook's timeout. The registry's timeout applies unless d is
// positive.
func Timeout(d time.Duration) Option { return func(s *settings) { s.timeout = d } }

// OnFailure sets the hook's failure mode.
func OnFailure(m FailureMode) Option { return func(s *settings) { s.onFailure = m } }

// Async runs the hook without waiting for it. Its answer is discarded, and its
// end is recorded as hook.executed. It is valid at notification points,
// [ToolResult] and [StepOutput].
func Async() Option { return func(s *settings) { s.async = true } }

// Enabled calls the hook only if enabled returns true. enabled runs before each
// call and within the hook's timeout. A panic in it fails the hook.
func Enabled(enabled func(context.Context, Meta) bool) Option {
	return func(s *settings) { s.enabled = append(s.enabled, enabled) }
}

// Isolate sets the hook's isolation level.
func Isolate(level Isolation) Option { return func(s *settings) { s.isolation = level } }

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

// ending is the end of a tool call, step, run or sub-agent.
type ending uint8

const (
	unknown ending = iota
	success
	failure
)

var (
	errAsyncLost  = errors.New("async: the decision would be lost")
	errAsync      = errors.New("async: the point needs the hook's answer")
	errWhen       = errors.New("when: the point does not distinguish success from failure")
	errTool       = errors.New("match: the point is not about a tool call")
	errNoRegistry = errors.New("no registry")
	errNoHook     = errors.New("nil function")
	errOption     = errors.New("nil option or invalid option value")
)

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

func (s *settings) checkValues() error {
	isNil := func(f func(context.Context, Meta) bool) bool { return f == nil }
	if s.onFailure > Ignore || s.isolation > External || slices.Contains(s.matchers, nil) || slices.ContainsFunc(s.enabled, isNil) {
		return errOption
	}
	return nil
}
