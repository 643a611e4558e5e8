// Package hooks is what orchestrators import: 26 points at which hooks decide
// on, transform and watch what an agent does, and the engine wrappers that pass
// them.
//
// A point is a variable of generic type, so that a hook of the wrong signature
// does not compile. Hooks are registered at a point of a [Registry], and called
// when the engine dispatches there:
//
//	id := hooks.ToolBefore.On(registry, fn, hooks.Name("no-force-push"))
//	out := hooks.ToolBefore.Dispatch(ctx, registry, meta, call)
//
// What orchestrators need most is wrapped by [Engine]. Whole sets of hooks are
// registered by [Registry.Use], and those of other processes and languages by
// [Registry.OnDocument].
//
// # Order
//
// Hooks run in the order of their [Priority], those of the same in the order of
// their registration. At a decision point a deny ends the chain; of the other
// verdicts the strongest counts, ask before allow. Patches are chained: each hook
// sees what those before it made of the input, and so does the caller, whatever
// the verdict. [SessionStart], [CompactBefore] and [StepBefore] are gathered
// instead: each hook sees the input as it came, and their patches are merged in
// order, the later one winning key by key. [Error] asks every hook: a refusal to
// retry beats any retry, else the first answer counts. The hooks of a
// notification run all at the same time. A dispatch goes on with the hooks that
// it began with, whoever is registered or removed meanwhile.
//
// # Failures
//
// A hook that returns an error, panics, ends its goroutine, misses its deadline
// or answers what cannot be used has failed. What follows is its [FailureMode]:
// by default the dispatch goes on as if it had no opinion, but a message that a
// hook fails to change is not written, and a result that a hook fails to redact
// is replaced by [RedactionFailed]. A [ToolResult] whose hook blocks is withheld,
// from its event too. A dispatch itself never fails. Only a fatal
// error of the runtime, such as a concurrent write of a map, cannot be caught.
//
// Errors, reasons and logs name hooks, points and a [Fault], never a payload.
//
// # Time
//
// A hook has 5 seconds, all hooks of a dispatch 30, unless told otherwise; those
// that are not reached have failed. Its context ends at the deadline, with the
// caller's, and when it has returned; it costs a timer only if somebody waits for
// it. A hook that does not heed its context is abandoned at the deadline or when
// the caller's context ends: the dispatch goes on without it, and what it still
// answers is discarded. An [Inline] hook cannot be abandoned.
//
// # Records
//
// With an [Appender] each dispatch records one event of its point's kind, with
// how each hook fared, when its hooks are done: denials and failures like
// everything else, also after the caller's context has ended. An execution that
// ends after its dispatch, because it is asynchronous or was abandoned, is
// recorded on its own as hook.executed, which may come before the dispatch's own
// event. An event that could not be recorded changes no outcome; it is in
// RecordErr.
//
// # Concurrency
//
// Everything may be used concurrently, and from inside of hooks. A hook is called
// by as many dispatches at once as there are, on goroutines of the registry
// unless it is [Inline], and has to bear that. What hooks are given is theirs: inputs are
// immutable or copied for each, and only what a hook returns counts. It is copied
// too, so that a hook may keep it.
//
// # Limits
//
// A hook of which 64 executions are abandoned and still running, or 1,024
// asynchronous, is not started again: it fails at once with [ErrBusy]. Values that
// nest deeper than 512 are cut off there in copies.
//
// A registry has workers that go when they have been idle for a moment. [Registry.Close]
// waits for what has been abandoned or is asynchronous, and sends the workers
// home; a test inside testing/synctest has to call it.
//
// The package links the standard library, pkg/events and google/uuid only.
package hooks
