// Package hooks lets an orchestrator call hooks at 26 points of a run. Hooks
// decide on actions, transform values and observe events. [Engine] wraps the
// functions of an orchestrator and dispatches at the right points.
//
// Each point is a variable with its input types, so a hook with the wrong
// signature does not compile. Hooks are registered at a point of a [Registry]:
//
//	id := hooks.ToolBefore.On(registry, fn, hooks.Name("no-force-push"))
//	out := hooks.ToolBefore.Dispatch(ctx, registry, meta, call)
//
// Constructors such as [DenyTool] and [NoOpinion] make the answers.
// [Registry.Use] registers a type with several hook methods.
// [Registry.OnDocument] registers hooks in other processes and languages.
//
// # Order
//
// Hooks run by [Priority], then in the order of registration. At a decision
// point a deny ends the chain. Otherwise the strongest verdict counts, ask
// before allow. Each hook sees the input as patched by the hooks before it.
//
// [SessionStart], [CompactBefore] and [StepBefore] are gathered points. Each of
// their hooks sees the original input, and the patches are merged in order,
// where later keys win. [Error] asks every hook. A refusal to retry beats every
// retry, otherwise the first answer counts. Notification hooks run in parallel.
// A running dispatch ignores later registrations and removals.
//
// # Failures
//
// A hook fails if it returns an error, panics, ends its goroutine, misses its
// deadline or returns an invalid answer. Its [FailureMode] decides how the
// dispatch continues. By default the failure counts as no opinion. A message is
// not written if a hook of [MessageCreate] or [MessageUpdate] fails, and
// [RedactionFailed] replaces a result that a hook fails to redact. A blocking
// hook of [ToolResult] withholds the result from the agent and from the event.
// The dispatch itself never fails.
//
// Errors, reasons and logs name hooks, points and a [Fault]. They never contain
// a payload.
//
// # Time
//
// By default a hook has 5 seconds and all hooks of a dispatch together have 30.
// Hooks that are not reached in time have failed. The context of a hook ends at
// its deadline, when the hook returns, and, unless the hook is asynchronous,
// with the caller's context.
//
// A worker goroutine runs neighbouring hooks of the chain. If a hook ignores
// its context, the dispatch abandons the goroutine, continues without it and
// discards a late answer, except for [Inline] hooks.
//
// # Records
//
// With an [Appender] each dispatch records one event of the point's kind after
// its hooks are done, even after the caller's context has ended. The event
// lists every execution, including denials and failures. An asynchronous or
// abandoned execution is recorded separately as hook.executed when it ends,
// possibly before the event of the dispatch. A recording failure changes no
// outcome. It is returned as RecordErr.
//
// # Concurrency
//
// All functions are safe for concurrent use and may be called from inside a
// hook. Concurrent dispatches call the same hook concurrently. Inputs and
// answers are immutable or copied, so a hook can keep them, and influences a
// run only through its return value.
//
// # Limits
//
// A hook with 64 abandoned or 1,024 asynchronous executions that still run is
// not started again and fails with [ErrBusy]. [Registry.Close] waits for these
// executions. Copies of values are cut off below a depth of 512.
package hooks
