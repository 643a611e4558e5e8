package rules

import (
	"fmt"
	"slices"
)

// failure is what is known of the failures of one identity.
type failure struct {
	Type       string   `json:"type,omitempty"`
	Role       string   `json:"role,omitempty"`
	Target     string   `json:"target,omitempty"`
	Class      string   `json:"class,omitempty"`
	Message    string   `json:"message,omitempty"` // of the first
	Generation int      `json:"generation,omitempty"`
	Issue      string   `json:"issue,omitempty"`     // about this generation
	Digest     string   `json:"digest,omitempty"`    // where it is listed for want of room
	Entry      int      `json:"entry,omitempty"`     // of the digest
	Last       Stamp    `json:"last,omitzero"`       // the latest that counts
	FirstRun   string   `json:"first_run,omitempty"` // that Message is of
	LastRun    string   `json:"last_run,omitempty"`
	Good       fact     `json:"good,omitzero"`    // the latest success of the run or step that failed last
	Scopes     []string `json:"scopes,omitempty"` // where it happened
}

var failures = table[failure]{"failure", func(f *failure) { f.Scopes = slices.Clone(f.Scopes) }}

// The bounds of lists in records.
const (
	maxScopes  = 16 // of a failure
	maxOpen    = 64 // failures of a scope
	maxFailing = 16 // steps of a run
)

// Failing is a step that failed while no issue followed its run.
type Failing struct {
	Failure string `json:"failure"`
	Scope   string `json:"scope"`
	Step    string `json:"step"`
	At      Stamp  `json:"at"`
}

// partOf returns the incident as part of the failure of a step of its run.
func (in incident) partOf(s Failing) incident {
	in.Failure, in.Scope, in.Step = s.Failure, s.Scope, s.Step
	return in
}

// fail takes in a failure in a run that no issue follows.
func (f *fold) fail(why cause) {
	run := f.run()
	who := f.identity(why)
	in := incident{
		Failure: who.key(f.tenant), Scope: who.scope(f.tenant), Run: run.ID, Step: why.step, Name: why.name, At: f.stamp,
	}
	if why.end {
		run.Scope = in.Scope
		if first, found := f.firstFailing(run); found {
			f.say("inhibited", "the run's end is part of the failure of its step")
			in = in.partOf(first)
		}
	} else if whole := run.Whole; whole.Failure != "" && f.takes(failures.edit(f.state, f.tenant, whole.Failure)) {
		f.say("inhibited", "the run's end has an issue already, and the step is part of it")
		in = in.partOf(whole)
	} else {
		run.fails(Failing{in.Failure, in.Scope, in.Step, in.At})
	}
	f.meet(in.Failure, who, why)
	f.judge(in, why.critical)
}

// identity returns what makes the failure one with others.
func (f *fold) identity(why cause) identity {
	run := f.run()
	who := identity{Type: run.Type, Role: why.role, Target: why.target, Text: Normalise(why.failure.Text)}
	if who.Target == "" {
		who.Target = run.Target
	}
	who.Class = f.config.infrastructure(why.failure.Class)
	return who
}

// meet notes what is to be said of a failure that was not known.
func (f *fold) meet(id string, who identity, why cause) {
	if failures.get(f.state, f.tenant, id) != nil {
		return
	}
	fl := failures.edit(f.state, f.tenant, id)
	fl.Type, fl.Role, fl.Target, fl.Class = who.Type, who.Role, who.Target, who.Class
	fl.Message, fl.FirstRun = clean(why.failure.Text, 500), f.event.Run
}

// fails notes a failing step, the latest failure of each.
func (r *Run) fails(s Failing) {
	i := slices.IndexFunc(r.Failing, func(old Failing) bool { return old.Step == s.Step && old.Failure == s.Failure })
	switch {
	case i >= 0:
		r.Failing[i].At = r.Failing[i].At.later(s.At)
	case len(r.Failing) < maxFailing:
		r.Failing = append(r.Failing, s)
	}
}

// judge decides what comes of an incident that has just become known.
func (f *fold) judge(in incident, critical bool) {
	fl := failures.edit(f.state, f.tenant, in.Failure)
	f.calm(fl.Issue)
	switch {
	case f.recovered(in):
		f.say("recovered before", "it was made good before it was heard of")
		f.decision.Flip = "a failure later than the success"
		f.occur(fl.follower())
	case f.takes(fl):
		f.recur(in)
	case len(f.decision.Effects) > 0:
		f.raise(in, critical)
	case critical:
		f.say("critical", "critical severity is not held")
		f.raise(in, true)
	default:
		f.hold(in)
	}
}

// takes reports whether a repeat of the failure needs no hold: its issue or its
// digest is there, or a person wants no more of it.
func (f *fold) takes(fl *failure) bool {
	if fl.Issue != "" {
		return f.isOpen(fl.Issue) || f.notPlanned(courses.get(f.state, f.tenant, fl.Issue))
	}
	return f.isOpen(fl.Digest)
}

func (fl *failure) follower() string {
	if fl.Issue != "" {
		return fl.Issue
	}
	return fl.Digest
}

// raise makes an issue of an incident, brings back the one that there was, or
// lists it where there is no room.
func (f *fold) raise(in incident, critical bool) {
	fl := failures.edit(f.state, f.tenant, in.Failure)
	if fl.Issue != "" && !f.outlived(fl.Issue) {
		f.recur(in)
		return
	}
	if in.Step == "" {
		runs.edit(f.state, f.tenant, in.Run).Whole = Failing{in.Failure, in.Scope, in.Step, in.At}
	}
	before := fl.Issue
	if before != "" {
		fl.Generation++
		fl.Issue = ""
	}
	f.take(fl, in)
	if f.escalated(in.Run) {
		return
	}
	if !f.room(critical) {
		fl.Digest, fl.Entry = f.list(f.failureTitle(fl))
		return
	}
	fl.Issue, fl.Digest = failureIssue(f.tenant, in.Failure, fl.Generation), ""
	f.say("failure", "nothing follows the run, and the failure is not known")
	f.create(f.failureIssue(fl, in), course{Failure: in.Failure, Out: f.out(in.Run)})
	f.open(in.Failure, fl)
	if before != "" {
		f.say("regression", fmt.Sprintf("the issue before was closed more than %s ago", formatDuration(f.config.Regression)))
		f.link(fl.Issue, Link{RegressionOf, before})
	}
}

// recur adds an incident to what follows its failure.
func (f *fold) recur(in incident) {
	fl := failures.edit(f.state, f.tenant, in.Failure)
	f.take(fl, in)
	if fl.Issue == "" {
		f.listAgain(fl.Digest, fl.Entry)
		return
	}
	f.occur(fl.Issue)
	f.say("known failure", "the failure has issue "+fl.Issue)
	f.settleFailure(in.Failure, runs.get(f.state, f.tenant, in.Run))
}

// take notes where and when the failure happened: where the end of its run failed
// too, a success of that makes it good.
func (f *fold) take(fl *failure, in incident) {
	if fl.Last.before(in.At) {
		fl.Last, fl.LastRun = in.At, in.Run
	}
	for _, s := range [...]string{in.Scope, f.scopeOfEnd(in.Run)} {
		if s != "" && !slices.Contains(fl.Scopes, s) && len(fl.Scopes) < maxScopes {
			fl.Scopes = append(fl.Scopes, s)
		}
	}
}

// failureOfRun returns the open issue about a failure of the run, "" if there is
// none.
func (f *fold) failureOfRun(run *Run) string {
	for _, s := range run.Failing {
		if fl := failures.get(f.state, f.tenant, s.Failure); fl != nil && fl.Issue != "" && f.isOpen(fl.Issue) {
			return fl.Issue
		}
	}
	return ""
}
