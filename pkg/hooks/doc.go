// Package hooks lets an orchestrator call hooks at 26 points of a run. Hooks decide about actions,
// change values and observe events. An [Engine] wraps the functions of an orchestrator and
// dispatches at the right points.
//
// Each point is a typed variable, so a hook with the wrong signature does not compile. A hook is
// registered at a point of a [Registry]:
//
//	id := hooks.ToolBefore.On(registry, fn, hooks.Name("no-force-push"))
//	out := hooks.ToolBefore.Dispatch(ctx, registry, meta, call)
//
// Hooks create their answers with constructors such as [DenyTool] and [NoOpinion]. [Registry.Use]
// registers all hook methods of a type. [Registry.OnDocument] registers hooks that run in other
// processes and languages.
//
// # Order
//
// Hooks run in the order of [Priority], and hooks of the same priority in the order of
// registration. At a decision point, a deny ends the chain. If no hook denies, the strongest
// verdict counts, and an ask is stronger than an allow. Each hook gets the input with the patches
// of the hooks before it. Hooks with [Last] run after all others, so they judge the final value.
//
// [SessionStart], [CompactBefore] and [StepBefore] are gathered points. At these points, each hook
// without [Last] gets the original input. The patches are merged in order, and later values replace earlier ones
// with the same key. [Error] calls every hook. The run does not retry if a hook refuses to retry.
// Otherwise the first answer counts. Notification hooks run in parallel.
//
// # Failures
//
// A hook fails if it returns an error, panics, ends its goroutine, exceeds its deadline or returns
// an invalid answer. Its [FailureMode] decides how the dispatch continues. By default, the dispatch
// continues as if the hook had no opinion. The exceptions are:
//
//   - If a hook of [MessageCreate] or [MessageUpdate] fails, the message is not stored.
//   - If a hook of these points or of [StepOutput] fails and blocks, the event does not have the value,
//     because the hook may be the one that removes secrets from it.
//   - If a hook of [ToolResultStore] fails, [RedactionFailed] is stored instead of the result.
//   - If a hook of [ToolResult] fails and its mode is Block, neither the agent nor the event
//     gets the result.
//
// The dispatch itself never fails. Errors, reasons and logs contain the names of hooks and points,
// and a [Fault]. They never contain a payload.
//
// # Time
//
// By default, a hook has 5 seconds, and all hooks of a dispatch together have 30 seconds, or less if
// the context of the caller ends earlier. If they could need more, a slow hook is stopped earlier, so
// that each later hook has at least a second, or half of the time that is left if this is too little.
// Hooks with [Last] have together the longest of their timeouts, at most half of the time. A hook
// that is not reached in time has failed. The context of a hook ends at its deadline and when
// the hook returns. Unless the hook is asynchronous, it also ends with the context of the caller.
//
// If a hook still runs after its deadline, the dispatch abandons the goroutine and discards a late
// answer. This is not possible for [Inline] hooks.
//
// # Records
//
// If the registry has an [Appender], each dispatch records one event of the point's kind when its
// hooks have ended. The event lists every execution. When an asynchronous or abandoned execution
// ends, it is recorded in a separate event hook.executed, possibly before the event of the
// dispatch. If recording fails, the outcome does not change and the error is returned as RecordErr.
//
// # Concurrency
//
// All functions are safe for concurrent use and can be called from inside of a hook. Concurrent
// dispatches call the same hook concurrently. A hook that is registered or removed during a
// dispatch does not affect it. Inputs and answers are immutable or copied, so a hook can keep them.
// It influences a run only through its return value.
//
// # Limits
//
// If 64 abandoned or 1,024 asynchronous executions of a hook still run, the next one fails with
// [ErrBusy]. [Registry.Close] waits for these executions. In copies, zero values replace all values
// that are nested more than 512 levels deep.
package hooks

// # Files
//
// All points are in this package, so that users import only one package. Each class of points and
// each part of a dispatch has its own file:
//
//	point*, tool, session, message*, document*, constructors  the points and their values
//	decision*, recovery, transform, notification*            the classes of points
//	registry, option, match, use, provider                   registration
//	chain, call, dispatch, sequential, async, fault, record  a dispatch
//	engine*, runner                                          the calls of an orchestrator
