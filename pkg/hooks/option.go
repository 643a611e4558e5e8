package hooks

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Option configures when and how a hook runs.
type Option func(*settings)

// FailureMode decides how a dispatch continues after a hook has failed.
type FailureMode uint8

// The failure modes. The default is Block for hooks of [MessageCreate], [MessageUpdate] and
// [ToolResultStore], and Warn for all others.
const (
	// Warn logs the failure and continues the dispatch as if the hook had no opinion.
	Warn FailureMode = iota + 1
	// Block denies or prevents the action and skips the remaining hooks. At transform points, hooks
	// with [Last] still run. At [ToolResultStore], [RedactionFailed] is stored instead. At [Error], Block refuses to retry, but the remaining
	// hooks run. At [SessionStart] and notification points, it is the same as Warn.
	Block
	// Ignore records the failure without logging it.
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

// Isolation decides on which goroutine a hook runs and how it ends at its deadline.
type Isolation uint8

// The levels of isolation.
const (
	// Pooled is the default. The hook runs on a worker goroutine, so it cannot stall the caller.
	Pooled Isolation = iota
	// Inline runs the hook on the caller's goroutine, which is faster but only safe with trusted
	// code. A hook that never returns blocks the caller. At a notification point, inline hooks run
	// one after the other.
	Inline
	// External is for hooks that call another process. It works like Pooled, but after its deadline
	// such a hook has the time [Grace] to clean up.
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

// DefaultTimeout applies if neither the hook nor the registry sets a timeout.
const DefaultTimeout = 5 * time.Second

// DefaultChainTimeout limits the total time of all hooks of one dispatch.
const DefaultChainTimeout = 30 * time.Second

// Grace is the time that an [External] hook has after its deadline to clean up.
const Grace = 250 * time.Millisecond

// Name sets the hook's name in executions, errors and lists.
func Name(name string) Option { return func(s *settings) { s.name = name } }

// Priority sets the position of the hook at its point. Lower values run first. The default is 0.
func Priority(priority int) Option { return func(s *settings) { s.priority = priority } }

// Last calls the hook after all hooks without Last, whatever their priority, so that it judges the
// final value. At a decision point, a patch of such a hook is invalid, and at a gathered point it
// gets the merged input. At a transform point it can still change the value, and the next hook with
// Last gets that value. Among themselves, these hooks follow [Priority].
func Last() Option { return func(s *settings) { s.last = true } }

// Match limits the hook to calls for which m returns true. With several Match options, all must
// return true. Register fails if a matcher from [ForTool] is used at a point without a tool call.
func Match(m Matcher) Option {
	return func(s *settings) { s.matchers = append(s.matchers, m) }
}

// WhenSuccess calls the hook only after a success. It is allowed at [ToolResult], [StepFinished],
// [RunFinished] and [SubagentStopped].
func WhenSuccess() Option { return func(s *settings) { s.when = success } }

// WhenFailure calls the hook only after a failure, at the points of [WhenSuccess].
func WhenFailure() Option { return func(s *settings) { s.when = failure } }

// Timeout sets the timeout of the hook. If d is not positive, the registry's timeout applies.
func Timeout(d time.Duration) Option { return func(s *settings) { s.timeout = d } }

// OnFailure sets the hook's failure mode.
func OnFailure(m FailureMode) Option { return func(s *settings) { s.onFailure = m } }

// Async starts the hook without waiting for it. Its answer is discarded. Async is allowed at
// notification points, [ToolResult] and [StepOutput].
func Async() Option { return func(s *settings) { s.async = true } }

// Enabled makes the registry call enabled before each call of the hook. The hook is skipped if
// enabled returns false. The time of enabled is part of the hook's timeout.
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
	last      bool
}

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
