// Package rules decides which work of agents becomes an issue. It folds events without reading the
// time, files or the network, so equal events in equal order always give equal decisions. The
// document docs/tracker.md describes the rules for users.
//
// [State.Apply] folds one event and returns decisions with the [Effect]s for the issue tracker. Run
// events, step.finished, error, issue.edited and clock.ticked get exactly one [Decision] each.
// Other events normally get none. They only move the tenant's clock, which can fire timers, and
// show that their run is alive. A successful result of a denied tool call gets one. The caller
// stores the records of [State.Changes]. If a record is not in memory, State loads it from a
// [Store].
//
// # Components
//
// A pass runs the due timers and then folds the event. The fold passes the event to these types, in
// this order. Each type owns the records listed next to it and uses only the types above it.
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
//	alarms           denied tool calls
//
// A file with a name in the singular, such as failure.go, defines a record. The file with the
// plural, failures.go, has the rules for it.
//
// # Tracking issues
//
// A tracking issue belongs to a [Lineage], which consists of a run, its child runs, and the re-runs
// with the same type and work item. A failed child run blocks the issue, but the successful end of
// a child run does not close it. Until the root run has an event, its child runs act as the root.
// If a run starts more than a week after the issue was closed, it starts a new generation of the
// lineage. The issue of a failed generation gets a regression-of link to the previous issue. A run
// without run.started that fails only because of its infrastructure gets no tracking issue.
//
// # Alarms
//
// If a tool call that was denied gets a successful result, the result gets an alarm issue at
// once. The denial must arrive first. If an event has the id and source of an earlier event and
// other content, it gets an alarm issue too, and nothing else of it counts. What hooks executed is
// no content. Only people close alarm issues. The hooks attribute does not turn alarms off. Alarms
// count as critical failures for the rate limits.
//
// # Time
//
// A failure that would create, reopen or block an issue first waits for a grace period of event
// time. Critical failures and the failed end of a tracked run do not wait. A later Apply or
// [State.Release] returns the decision on the waiting event. When an event moves the clock, the due
// timers run first, each at its due time. The end of a grace period gives a separate decision. The
// work of other timers becomes part of the decision on the event or, if that waits, on the
// next event of the tenant.
//
// Timestamps of events may be wrong. An event more than a week ahead of the clock moves it only
// after a second such event, unless it is a clock.ticked or a custom event without a run. An event
// more than two years ahead is handled as if it had happened now. After 20 consecutive events more
// than a week behind the clock, the clock is set back. A grace period ends at the latest when the
// clock has advanced by its length. Records that services write about other events, such as
// run.sealed, neither move the clock nor are occurrences.
//
// # People
//
// An edit by a person names an issue or an event. If there is no decision on that event yet, the
// edit waits for it. If the event created a follow-up, the edit changes that follow-up.
//
// # Order
//
// The status of an issue depends on the known facts in the order of event times, so repeated or
// reordered delivery does not change the final status. For each step only the latest step.finished
// counts, and for each run only the latest run.finished.
package rules
