// Package rules decides which work of agents becomes an issue. Equal events in equal order always
// give equal decisions, because it reads no time, files or network. The document docs/tracker.md
// describes the rules for users.
//
// [State.Apply] folds one event and returns decisions with the [Effect]s for the issue tracker.
// Each run event, step.finished, error, issue.edited and clock.ticked gets exactly one [Decision].
// So does a successful result of a denied tool call. Other events normally get none, and only show
// that time passes and that their run is alive. The caller stores the records of [State.Changes],
// and State loads missing ones from a [Store].
//
// # Components
//
// A pass runs the due timers and then folds the event. The event passes through these types in
// order. Each type owns the records on its line and uses only the types above it.
//
//	journal          issues, and the effects that change them
//	facts            none. It answers questions about recorded failures and successes
//	people           edits by people
//	transitions      times of facts and reopenings, and which issues flap
//	digests          entries of digests, and the latest digest
//	limiter          creation times for the rate limits
//	graceQueue       failures in their grace period
//	outageDetector   none. It recognises failures of the infrastructure
//	stallWatch       times of the latest events of lineages
//	recorder         runs, steps, and the lineages of runs
//	tracking         issue, digest entry and follow-ups of each lineage
//	loopGuard        number of issues that a lineage has caused
//	failureTracker   failures, their scopes and causes
//	bundles          one issue per run for the items beyond its limit
//	followupTracker  follow-ups and the index of their words
//	alarms           denied tool calls
//
// # Files
//
// The components fold one state, so they are in one package. A file with a singular name, such as
// failure.go, defines a record. The file failures.go has the rules for it.
//
// # Tracking issues
//
// A tracking issue belongs to a [Lineage]. A lineage consists of a run, its child runs, and the
// re-runs with the same type and work item. A failed child run blocks the issue, but a successful
// child run does not close it. Until the root run has an event, its child runs act as the root. A
// run that starts more than a week after the issue was closed starts a new generation. If that
// generation fails, its issue links to the previous one as a regression. A run without run.started
// that fails only because of its infrastructure gets no tracking issue.
//
// # Alarms
//
// A successful result of a denied tool call gets an alarm issue at once, in either order of
// arrival. The tracker remembers the latest 32,768 successful calls of a tenant. An event with the
// id and source of an earlier event and other content also gets an alarm issue, and has no other
// effect. Only people close alarm issues, and the hooks attribute does not turn alarms off. Alarms
// count as critical failures for the rate limits.
//
// # Time
//
// A failure first waits for a grace period of event time before it creates, reopens or blocks an
// issue. Critical failures and the failed end of a tracked run do not wait. A later Apply or
// [State.Release] returns the decision.
//
// When an event moves the clock, the due timers run first, each at its due time. The end of a grace
// period gives a separate decision. Other timers add to the decision on the event, or on the next
// event if this one waits.
//
// Timestamps of events may be wrong. An event more than a week ahead of the clock moves it only
// after a second such event. A clock.ticked event, or a custom event without a run, moves it at
// once. An event more than two years ahead counts as if it had happened now. After 20 consecutive
// events more than a week behind the clock, the clock is set back. A grace period ends at the
// latest when the clock has advanced by its length. Records of services about other events, such as
// run.sealed, do not move the clock.
//
// # People
//
// An edit by a person names an issue or an event. The edit of an event waits for its decision, and
// then changes the follow-up that the event created.
//
// # Order
//
// The status of an issue depends on the known facts in the order of event times, so repeated or
// reordered delivery does not change it in the end. For each step and run, only the latest
// step.finished or run.finished counts.
package rules
