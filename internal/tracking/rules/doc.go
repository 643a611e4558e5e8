// Package rules decides which work of agents becomes an issue. It folds events without reading
// the time, files or the network. Therefore, equal events in equal order always give equal
// decisions.
//
// [State.Apply] folds one event. It returns decisions with the [Effect]s for the issue tracker.
// Run events, step.finished, error, issue.edited and clock.ticked get exactly one [Decision]
// each, even if the decision is that there is no issue. Other events normally get no decision.
// They only move the tenant's clock, which can fire timers, and show that their run is alive.
// [State.Changes] returns the modified records, which the caller stores. If a record is not in
// memory, State loads it from a [Store].
//
// # Components
//
// A pass runs the due timers and then folds the event. The fold passes the event to these
// types, in this order. Each type owns the records listed next to it and uses only the types
// above it. All types write to the draft of the decision.
//
//	journal          issues, and the effects that change them
//	facts            no records, answers questions about recorded failures and successes
//	people           edits by people
//	transitions      times of facts and reopenings, and which issues flap
//	digests          entries of digests, and the latest digest
//	limiter          creation times for the rate limits
//	graceQueue       failures in their grace period
//	outageDetector   no records, recognises failures of the infrastructure
//	stallWatch       times of the latest events of lineages
//	recorder         runs, steps, and the lineages of runs
//	tracking         issue, digest entry and follow-ups of each lineage
//	loopGuard        number of issues that a lineage has caused
//	failureTracker   failures, their scopes and causes
//	bundles          one issue per run for the items beyond its limit
//	followupTracker  follow-ups and the index of their words
//
// A file with a name in the singular, such as failure.go, defines a record. The file with the
// name in the plural, failures.go, has the rules for it. All of them share the unexported
// records of one State, so they are in one package.
//
// # Tracking issues
//
// A run gets a tracking issue if its type is tracked (AUTOPILOT, RESOLVE) or its complexity is
// at least 3. The issue covers the run from its start to its end. If a step fails, the
// issue is blocked until the step recovers. Partial success closes the issue and creates a
// follow-up for each remaining item.
//
// A tracking issue belongs to a [Lineage]. A lineage consists of a run, its child runs, and the
// re-runs with the same type and work item. If a child run fails, the issue is blocked, but the
// successful end of a child run does not close it. As long as the root run has no event, its
// child runs act as the root. The start of a re-run is an occurrence of the issue, and its
// first step reopens the issue. If a run starts more than a week after the issue was closed, it
// starts a new generation of the lineage. When that generation fails, its issue gets a
// regression-of link to the previous issue. A run gets no tracking issue if it has no
// run.started and fails only because of its infrastructure.
//
// # Failures
//
// If a run without a tracking issue fails, the failure gets a failure issue. Normally a failure
// is identified by run type, role, target and normalised error. A failure with an
// infrastructure class is identified by that class alone, for the whole tenant. The class comes
// from the event, or from a known error message of a model provider ("API Error: 503 …").
// Classes that name no cause ("error") and classes with a word in [Config].Ordinary
// ("lint_failed", "KeyError") are not infrastructure classes.
//
// A repeated failure is an occurrence of the same issue. A later success in the same scope (run
// type, role and target) closes the issue. A failure within a week after that reopens the
// issue. A failure after more than a week gets a new issue with a regression-of link to the old
// one. A failed run counts as one failure, so its end and later failing steps are occurrences
// of its first failure. The issue is also closed if another run with the same type and target
// ends successfully.
//
// # Follow-ups
//
// Deferred work of a run gets at most 3 follow-ups, and one collective issue for the rest. A
// follow-up stands for one item at one target. If another run leaves the same item undone, that
// is an occurrence. The follow-up is closed by a summary with "done: X", or by a later report
// of the same step that does not contain the item.
//
// # Time
//
// A failure that would create, reopen or block an issue first waits for a grace period of 30
// seconds of event time. Critical failures and the failed end of a tracked run do not wait. If
// the step, role, run or scope recovers within the grace period, the failure is only recorded.
// The decision on a waiting event is returned by a later Apply or by [State.Release]. When an
// event moves the clock, the due timers run before the event is handled, each at its due time.
// The end of a grace period gives a separate decision. The work of other timers becomes part of
// the decision on the event that moved the clock, or on the next event of the tenant if that
// event has to wait.
//
// Timestamps of events may be wrong. If an event is more than a week ahead of the tenant's
// clock, it moves the clock only after a second such event. Until then, an event that is more
// than two years ahead is handled as if it had happened now. A clock.ticked event, or a custom
// event without a run, needs no second event. If 20 consecutive events are more than a week
// behind the clock, the clock is set back to them. A grace period ends at the latest when the
// clock has advanced by the length of the period since the failure arrived. Records that
// services write about other events, such as run.sealed, have the time at which they were
// written. They do not move the clock and are not occurrences.
//
// If failures reopen an issue twice within 2 hours, the issue is flapping. Its status then
// stays the same until there were no facts about it for 24 hours. After that, it gets the
// status that the facts demand, and keeps the label. If the work of a tracking issue has not
// ended and there were no events for 2 hours, the issue gets the label stalled, at most once.
//
// # Limits
//
// Rate limits apply to each tenant. Failures and follow-ups may get 5 issues in 10 minutes and
// 12 in an hour, and 5 critical failures in an hour are allowed in addition. There may be 25
// tracking issues in 10 minutes. All follow-ups of one event are accepted or rejected together.
// Everything that is rejected is listed in a digest, which accepts entries for a day and counts
// repetitions. If a lineage has caused 10 issues without progress, its tracking issue gets the
// label loop, and the lineage causes no more issues.
//
// # People
//
// An edit by a person names an issue or an event that belongs to an issue. If there is no
// decision on that event yet, the edit waits for it. If the event created a follow-up, the edit
// changes that follow-up. An issue that was closed as not planned stays closed for 30 days, and
// recurrences are only counted. An issue that a person closed is reopened only by a run that
// started later, if that run fails or leaves the work undone. An issue that a person reopened
// is open, or blocked if a fact blocks it. Later facts change its status as usual, except facts
// from a run that had ended before the edit and has not started again. A title that a person
// wrote stays.
//
// # Order
//
// The status of an issue depends on the known facts in the order of event times. Repeated or
// reordered delivery of events does not change the final status. An event that arrives late is
// still an occurrence. For each step only the latest step.finished counts, and for each run only
// the latest run.finished.
package rules
