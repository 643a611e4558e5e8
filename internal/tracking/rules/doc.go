// Package rules decides which of an agent's work becomes an issue: a pure fold
// over events, without clock, disk or network of its own.
//
// [State.Apply] folds one event, and gives the decisions that it brings with the
// [Effect]s that an issue tracker is to apply. Considered are run events,
// step.finished, error, issue.edited and clock.ticked; each gives exactly one
// [Decision], "no issue" included. All other events only move the tenant's clock,
// which no other time moves, and tell that their run is alive. What a State has
// changed is asked of it with [State.Changes], to be stored together; what it has
// not in memory it loads from a [Store]. An event id that was decided on is never
// decided on again.
//
// # Issues
//
// The rules are the ADR's table, for every run type:
//
//	run type AUTOPILOT or RESOLVE   a tracking issue from the run's start, closed or blocked at its end
//	complexity of 3 or more         a tracking issue too
//	a step failed                   the tracking issue is blocked; where there is none, a failure issue, open
//	the step recovered              in progress again
//	partial success                 the issue closes all the same, a follow-up per remaining item
//	deferred work                   a follow-up per item, 3 per run, then one bundle
//	simple completion               no issue, and why
//
// A tracking issue belongs to a [Lineage]: a run with its child runs, and the
// re-runs of its type and work item. A child run is like an agent role of its
// root: its failed end blocks, it never closes; until a root is heard of, child
// runs stand for it. A completed step never closes. The start of a re-run is an
// occurrence, its first step reopens. A run that starts more than a week after the
// issue was closed has a new one, linked regression-of once it fails. A run of which
// no start came, and that only fails by its infrastructure, has none.
//
// A failure issue belongs to an identity: run type, role, target and normalised
// error; where the error has a class, that alone, for the whole tenant: it names what
// the work runs on. Where none is given, the words of a model provider's API tell
// it ("API Error: 503 …"). A class that says nothing ("error"), or has a word of
// [Config].Ordinary ("lint_failed", "KeyError"), does not count. Repeats are
// occurrences. A later success in the same scope (run type, role, target) closes the
// issue, a failure within a week after that reopens it, later there is a new one,
// linked regression-of. A run that fails has one failure: its end and its other
// failing steps are part of that of its first, and the successful end of another run
// of its type and target closes it too.
//
// A follow-up belongs to an item at a target: who leaves the same over adds an
// occurrence. A summary that says "done: X" closes it, and so does a later report
// of the step that no longer leaves it over.
//
// # Time
//
// A failure that would make, reopen or block an issue is held for 30 s of event
// time, unless its severity is critical. What its step, its role, its run or its
// scope makes good until then is recorded only. The decision on a held event comes
// when the hold ends: another Apply, or [State.Release], returns it. Timers that
// are due run before the event that moved the clock, each at its own time. What
// they do beside ending holds is part of the decision on that event, or, where
// that is held, of the tenant's next one.
//
// A clock may be wrong: an event more than a week ahead of the tenant's moves that
// only once another event is there too, of whichever run; what is more than two years
// ahead counts as of now until then. A clock.ticked, or a custom event about no run,
// says that time has passed, and needs no other. Where 20 events in a row are more
// than a week behind, the clock goes back to them. A hold ends at the latest when the
// clock has moved by so much since the failure came. So one mistaken time stops
// nobody's holds and windows, and the gaps of imported histories are as long as they
// were. A note about events, such as a run.sealed, has the time of the noting: it moves
// no clock, and is an occurrence of nothing.
//
// An issue that failures reopen twice within 2 h flaps: it moves no more until nothing
// was heard of it for 24 h, and then to where the facts say; the label stays, to tell
// that it flapped. One whose work is not ended and not heard of for 2 h is labelled,
// once.
//
// # Room
//
// A tenant has room for 5 failures and follow-ups in 10 minutes and 12 in an hour,
// for 25 tracking issues in 10 minutes, and beyond that for 5 critical failures in
// an hour. The follow-ups of one event come together. The rest is listed in a
// digest, which takes entries for a day; its repeats count there. A lineage out of
// which 10 issues came without progress is labelled, and makes no more.
//
// # People
//
// A person's edit names an issue, or any event of it; then it may come before the
// event is decided on, and waits. Of an event that made a follow-up it means that,
// whatever else the event made. Closed as not planned stays closed for 30 days,
// recurrences are counted. Closed by a person is reopened by nothing but a failure,
// or work left over, of a run that started later. Reopened by a person is open, or
// blocked where something blocks it; what came later moves it as ever, but for what a
// run did that had ended by then and did not start again. A title that a person gave
// stays.
//
// # Order
//
// Where an issue stands is a function of what is known, in the order of event
// times, so that neither repeated nor reordered delivery changes how it ends: a
// late event adds an occurrence. What comes again counts once: the latest
// step.finished of a step, the latest run.finished of a run.
package rules
