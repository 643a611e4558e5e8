// Package rules decides which work of agents becomes an issue. It folds events without a clock,
// files or network, so equal events in equal order always give equal decisions.
//
// [State.Apply] folds one event and returns decisions with the [Effect]s for the issue tracker.
// Run events, step.finished, error, issue.edited and clock.ticked get exactly one [Decision]
// each, even if it is "no issue". All other events only move the tenant's clock, which runs due
// timers, and show that their run is alive. [State.Changes] returns the modified records for
// storage, and a [Store] loads missing ones.
//
// # Components
//
// A pass runs the due timers and then folds the event. The fold routes the event through these
// types, in this order. Each owns some records and uses only types above it. All write to the
// draft of the decision.
//
//	journal          issues, and the effects that change them
//	facts            nothing; answers questions about recorded failures and successes
//	people           edits by people
//	transitions      times of facts and reopenings; flapping
//	digests          entries of digests, and the latest digest
//	limiter          creation times for the rate limits
//	graceQueue       failures in their grace period
//	outageDetector   nothing; recognises failures of the infrastructure
//	stallWatch       times of the last events of lineages
//	recorder         runs, steps, and the lineages of runs
//	tracking         issue, digest entry and follow-ups of each lineage
//	loopGuard        counts of issues that a lineage caused
//	failureTracker   failures, their scopes and causes
//	bundles          one issue per run for items beyond its limit
//	followupTracker  follow-ups and the index of their words
//
// A file in the singular, such as failure.go, has the record. The file in the plural,
// failures.go, has its rules.
//
// They share the unexported records of one State, so they stay in one package.
//
// # Tracking issues
//
// A run of a tracked type (AUTOPILOT, RESOLVE) or with a complexity of at least 3 has a
// tracking issue from its start to its end. A failed step blocks it, and the recovery of the
// step continues it. Partial success closes it, with a follow-up for each remaining item.
//
// A tracking issue belongs to a [Lineage]: a run with its child runs, and the re-runs of its
// type and work item. The failed end of a child run blocks the issue, but its successful end
// does not close it. Child runs act as the root until the root has an event. The start of a
// re-run is an occurrence, and its first step reopens the issue. A run that starts more than a
// week after the issue was closed starts a new generation. Its issue is linked regression-of
// when it fails. A run without a run.started that fails only because of its infrastructure has
// no tracking issue.
//
// # Failures
//
// A failure of a run without a tracking issue gets a failure issue. Its identity is the run
// type, role, target and normalised error. A failure with an infrastructure class has that
// class as its identity, for the whole tenant. The class is in the event or in a known error
// message of a model provider ("API Error: 503 …"). Classes without a cause ("error") and
// classes with a word in [Config].Ordinary ("lint_failed", "KeyError") do not count.
//
// Repeated failures are occurrences. A later success in the same scope (run type, role, target)
// closes the issue. A failure within a week reopens it, and a later one gets a new issue, linked
// regression-of. A failed run counts as one failure: its end and later failing steps are
// occurrences of its first failure. A successful end of another run with its type and target
// closes its issue too.
//
// # Follow-ups
//
// Deferred work gets at most 3 follow-ups per run, and one collective issue for the rest. A
// follow-up belongs to an item at a target. A run that leaves the same item undone adds an
// occurrence. A summary with "done: X" closes it, and so does a later report of the step without
// the item.
//
// # Time
//
// A failure that would create, reopen or block an issue first waits for a grace period of 30
// seconds of event time, unless its severity is critical or it is the end of a tracked run. If
// its step, role, run or scope recovers in that time, it is only recorded. The decision on a
// waiting event comes from a later Apply or from [State.Release]. Due timers run before the
// event that moved the clock, each at its own time. Except for the end of grace periods, their
// work is part of the decision on that event, or on the tenant's next event if that one waits.
//
// Clocks may be wrong. An event more than a week ahead of the tenant's clock moves the clock
// only after a second such event. Until then, an event more than two years ahead is handled as
// if it happened now. A clock.ticked, or a custom event without a run, needs no second event.
// After 20 consecutive events that are more than a week behind, the clock goes back to them. A
// grace period ends at the latest when the clock has advanced by its length since the arrival
// of the failure. The records that services write about events, such as run.sealed, have the
// time of writing. They move no clock and are not occurrences.
//
// An issue that failures reopen twice within 2 hours flaps. It does not move until it had no
// facts for 24 hours. Then it moves to the status that the facts demand and keeps its label. An
// issue whose work has not ended is labelled once after 2 hours without events.
//
// # Limits
//
// A tenant may get issues for 5 failures and follow-ups in 10 minutes and for 12 in an hour, and
// 25 tracking issues in 10 minutes. In addition, 5 critical failures in an hour are allowed. The
// follow-ups of one event are admitted together. Everything else is listed in a digest, which
// accepts entries for a day and counts repeats. A lineage that caused 10 issues without progress
// is labelled and causes no more.
//
// # People
//
// A person's edit names an issue or one of its events. An edit that arrives before the decision
// on the event waits. If the event created a follow-up, the edit concerns that follow-up. An
// issue closed as not planned stays closed for 30 days, and recurrences are counted. An issue
// closed by a person is reopened only by a failure or undone work of a run that started later.
// An issue reopened by a person is open, or blocked if a fact blocks it. Later facts move it as
// usual, except those of a run that had ended by then and has not started again. A title from a
// person stays.
//
// # Order
//
// The status of an issue depends on the known facts in the order of event times. Repeated and
// reordered delivery does not change the final status. A late event adds an occurrence. Only
// the latest step.finished of a step and the latest run.finished of a run count.
package rules
