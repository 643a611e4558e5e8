package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hooktrail/hooktrail/internal/tracking/rules/fingerprint"
)

type failureTracker struct {
	draft       *draft
	journal     *journal
	facts       facts
	people      *people
	transitions *transitions
	digests     *digests
	limiter     *limiter
	grace       *graceQueue
	loops       *loopGuard
}

func (t *failureTracker) fail(why cause) {
	d := t.draft
	run, who := d.run(), t.identity(why)
	in := incident{
		Failure: who.key(d.tenant), Scope: who.scope(d.tenant), Run: run.ID, Step: why.step, Name: why.name, At: d.stamp,
	}
	if why.end {
		run.Scope = in.Scope
		if first, found := t.facts.firstFailing(run); found {
			d.say("inhibited", "the run's end is part of the failure of its step")
			in = in.partOf(first)
		}
	} else if whole := run.Whole; whole.Failure != "" && t.accepts(failures.edit(d.records, whole.Failure)) {
		d.say("inhibited", "the run's end has an issue already, and the step is part of it")
		in = in.partOf(whole)
	} else {
		run.fails(Failing{in.Failure, in.Scope, in.Step, in.At})
	}
	if failures.get(d.records, in.Failure) == nil {
		fl := failures.edit(d.records, in.Failure)
		fl.Type, fl.Role, fl.Target, fl.Class = who.Type, who.Role, who.Target, who.Class
		fl.Message, fl.FirstRun = clean(why.failure.Text, 500), d.event.Run
	}
	t.judge(in, why.critical)
}

func (t *failureTracker) identity(why cause) identity {
	who := t.work(why)
	who.Text = fingerprint.Identity(why.failure.Class, why.failure.Text)
	who.Class = t.draft.config.infrastructure(why.failure)
	return who
}

func (t *failureTracker) work(why cause) identity {
	run := t.draft.run()
	return identity{Type: run.Type, Role: why.role, Target: cmp.Or(why.target, run.Target)}
}

func (t *failureTracker) judge(in incident, critical bool) {
	d := t.draft
	fl := failures.edit(d.records, in.Failure)
	fl.Critical = fl.Critical || critical
	t.transitions.calm(fl.Issue)
	switch {
	case !critical && t.facts.recovered(in):
		d.say("recovered before", "it was made good before it was heard of")
		d.flip("a failure later than the success")
		t.journal.occur(fl.follower())
	case t.accepts(fl):
		t.recur(in)
	case len(d.decision.Effects) > 0:
		t.raise(in, critical)
	case critical:
		d.say("critical", "critical severity is not held")
		t.raise(in, true)
	default:
		t.grace.add(in)
	}
}

func (t *failureTracker) endIncident(in incident) bool {
	d := t.draft
	if id := t.facts.follower(in.Run); id != "" {
		d.say("followed since", "an issue follows the run since then")
		t.journal.occur(id)
		return false
	}
	if t.facts.recovered(in) {
		d.recovered()
		return false
	}
	if first, inhibited := t.facts.inhibitor(in); inhibited {
		d.say("inhibited", "the run failed, and this is part of the failure of its first failing step")
		in = in.partOf(first)
	}
	d.flip("success of its run, step or scope within that time")
	if t.accepts(failures.edit(d.records, in.Failure)) {
		t.recur(in)
	} else {
		t.raise(in, false)
	}
	return true
}

func (t *failureTracker) accepts(fl *failure) bool {
	r := t.draft.records
	if fl.Issue != "" {
		return r.isOpen(fl.Issue) || t.people.notPlanned(courses.get(r, fl.Issue))
	}
	return r.isOpen(fl.Digest)
}

func (t *failureTracker) raise(in incident, critical bool) {
	d := t.draft
	fl := failures.edit(d.records, in.Failure)
	if fl.Issue != "" && !t.transitions.outlived(fl.Issue) {
		t.recur(in)
		return
	}
	if in.Step == "" {
		runs.edit(d.records, in.Run).Whole = Failing{in.Failure, in.Scope, in.Step, in.At}
	}
	before := fl.Issue
	if before != "" {
		fl.Generation++
		fl.Issue = ""
	}
	t.note(fl, in)
	if t.loops.escalated(in.Run) {
		return
	}
	if !t.limiter.allow(critical) {
		fl.Digest, fl.Entry = t.digests.add(fl.title(d.config))
		return
	}
	fl.Issue, fl.Digest = failureIssue(d.tenant, in.Failure, fl.Generation), ""
	d.say("failure", "nothing follows the run, and the failure is not known")
	t.journal.create(t.issue(fl, in), course{Failure: in.Failure, Out: t.loops.origin(in.Run)})
	indexFailure(d.records, in.Failure, fl)
	if before != "" {
		d.say("regression", fmt.Sprintf("the issue before was closed more than %s ago", FormatDuration(d.config.Regression)))
		t.journal.link(fl.Issue, Link{RegressionOf, before})
	}
}

func (t *failureTracker) issue(fl *failure, in incident) Issue {
	text := sentence(in.Name+" failed in run "+clean(in.Run, 300)) + ", and nothing followed the run before."
	if fl.Message != "" {
		text += "\n\n" + fl.Message
	}
	return Issue{
		ID: fl.Issue, Kind: Failure, Status: Open, Title: fl.title(t.draft.config), Description: text,
		Reason: sentence(in.Name + " failed"),
	}
}

func (t *failureTracker) recur(in incident) {
	d := t.draft
	fl := failures.edit(d.records, in.Failure)
	t.note(fl, in)
	if fl.Issue == "" {
		t.digests.repeat(fl.Digest, fl.Entry)
		return
	}
	t.journal.occur(fl.Issue)
	d.say("known failure", "the failure has issue "+fl.Issue)
	t.settle(in.Failure, runs.get(d.records, in.Run))
}

func (t *failureTracker) note(fl *failure, in incident) {
	if fl.Last.before(in.At) {
		fl.Last, fl.LastRun = in.At, in.Run
	}
	for _, s := range [...]string{in.Scope, t.facts.endScope(in.Run)} {
		if s != "" && !slices.Contains(fl.Scopes, s) && len(fl.Scopes) < maxScopes {
			fl.Scopes = append(fl.Scopes, s)
		}
	}
}

func (t *failureTracker) succeed(why cause) {
	d := t.draft
	run := d.run()
	sc := scopes.edit(d.records, t.work(why).scope(d.tenant))
	sc.Good = sc.Good.latest(fact{d.stamp, run.ID})
	closing := slices.Clone(sc.Failures)
	for _, s := range run.Failing {
		fl := failures.edit(d.records, s.Failure)
		if !t.facts.recovered(incident{Scope: s.Scope, Run: run.ID, Step: s.Step, At: s.At}) || fl.LastRun != run.ID {
			continue
		}
		fl.Good = fl.Good.latest(fact{d.stamp, run.ID})
		if fl.Issue != "" && !slices.Contains(closing, s.Failure) {
			closing = append(closing, s.Failure)
		}
	}
	for _, id := range closing {
		d.say("auto-close", "a success in the scope of a failure")
		t.settle(id, run)
		t.loops.progress(failures.edit(d.records, id).Issue)
	}
}

func (t *failureTracker) settle(id string, run *Run) {
	d := t.draft
	fl := failures.edit(d.records, id)
	t.transitions.calm(fl.Issue)
	status, reason := t.facts.failureStatus(fl)
	t.transitions.move(fl.Issue, status, motive{reason: reason, failure: status != Closed, run: run})
	if d.isOpen(fl.Issue) {
		indexFailure(d.records, id, fl)
	} else {
		unindexFailure(d.records, id, fl)
	}
}
