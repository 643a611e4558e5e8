// Package issues decides which of an agent's work becomes an issue: a pure fold
// over events, without clock, disk or network of its own.
//
// [Fold] takes the part of a tenant's state that one event can touch, a [View],
// and gives back that part as it is afterwards together with the decision on
// the event. Considered are run events, step.finished, error, issue.edited and
// clock.ticked; each gives exactly one [Decision], "no issue" included, and
// with it the [Effect]s that an issue tracker is to apply. Everything else only
// moves the tenant's clock, which no other time moves.
//
// The rules are the ADR's table, for every run type:
//
//	run type AUTOPILOT or RESOLVE   one issue at the run's start, closed or blocked at its end
//	complexity of 3 or more         the run gets an issue too
//	a step failed                   the run's issue is blocked; made if there was none
//	the step recovered              in progress again
//	partial success                 the issue closes all the same, a follow-up per remaining item
//	deferred work                   a follow-up per item, 3 per run, then one bundle
//	simple completion               no issue, and why
//
// A run has at most one issue of its own. Its status is a function of what is
// known of the run in the order of event times, so that neither repeated nor
// reordered delivery changes how it ends, and a completed step never closes it.
// Facts that come again count once: the latest step.finished of a step, the
// latest run.finished of a run. An event id that was decided on is never
// decided on again.
package issues
