package rules

import "slices"

// scope is where failures happen and successes make them good: a role of a run
// type at a target.
type scope struct {
	Good     fact     `json:"good,omitzero"`      // the latest success
	Failures []string `json:"failures,omitempty"` // with an issue that is not closed
}

var scopes = table[scope]{"scope", func(s *scope) { s.Failures = slices.Clone(s.Failures) }}

// recovered reports whether something made an incident good: a success in its
// scope, or in that of its run's end, its step, or the end of its run.
func (f *fold) recovered(in incident) bool {
	return in.At.before(f.goodIn(in.Scope).Stamp) || in.At.before(f.goodIn(f.scopeOfEnd(in.Run)).Stamp) ||
		in.At.before(f.goodOf(in.Run)) || in.At.before(f.goodStep(in.Run, in.Step))
}

func (f *fold) goodIn(id string) fact {
	if s := scopes.get(f.state, f.tenant, id); id != "" && s != nil {
		return s.Good
	}
	return fact{}
}

// scopeOfEnd returns where the end of a run failed, "" if it did not.
func (f *fold) scopeOfEnd(run string) string {
	if r := runs.get(f.state, f.tenant, run); r != nil {
		return r.Scope
	}
	return ""
}

func (f *fold) goodOf(run string) Stamp {
	if r := runs.get(f.state, f.tenant, run); r != nil {
		return r.Settled
	}
	return Stamp{}
}

func (f *fold) goodStep(run, step string) Stamp {
	if step == "" {
		return Stamp{}
	}
	if s := steps.get(f.state, f.tenant, stepID(run, step)); s != nil {
		return s.Done
	}
	return Stamp{}
}

// firstFailing returns the earliest step of a run that failed and was not made
// good: the failure of the run's end is part of it.
func (f *fold) firstFailing(run *Run) (first Failing, found bool) {
	for _, s := range run.Failing {
		if f.recovered(incident{Scope: s.Scope, Run: run.ID, Step: s.Step, At: s.At}) {
			continue
		}
		if !found || s.At.before(first.At) {
			first, found = s, true
		}
	}
	return first, found
}

// settleFailure brings the issue of a failure to where the facts say: closed if
// the latest of them is a success.
func (f *fold) settleFailure(id string, run *Run) {
	fl := failures.edit(f.state, f.tenant, id)
	f.calm(fl.Issue)
	want, why := f.failureStatus(fl)
	f.move(fl.Issue, want, motive{reason: why, failure: want != Closed, run: run})
	if f.isOpen(fl.Issue) {
		f.open(id, fl)
		return
	}
	for _, s := range fl.Scopes {
		own := scopes.edit(f.state, f.tenant, s)
		own.Failures = slices.DeleteFunc(own.Failures, func(other string) bool { return other == id })
	}
}

// goodFor returns the latest success that makes a failure good.
func (f *fold) goodFor(fl *failure) fact {
	good := fl.Good
	for _, s := range fl.Scopes {
		good = good.latest(f.goodIn(s))
	}
	return good
}

func (f *fold) failureStatus(fl *failure) (Status, string) {
	if fl.Last.before(f.goodFor(fl).Stamp) {
		return Closed, "A later success in the same scope"
	}
	return Open, "It failed again"
}

// open notes a failure in the scopes whose success would close it.
func (f *fold) open(id string, fl *failure) {
	for _, s := range fl.Scopes {
		if known := scopes.get(f.state, f.tenant, s); known != nil && slices.Contains(known.Failures, id) {
			continue
		}
		own := scopes.edit(f.state, f.tenant, s)
		if len(own.Failures) >= maxOpen {
			own.Failures = slices.Delete(own.Failures, 0, 1)
		}
		own.Failures = append(own.Failures, id)
	}
}

// succeed takes in a success: it closes the failures of its scope, and those
// that its run or step was the last to have.
func (f *fold) succeed(why cause) {
	run := f.run()
	who := f.identity(why)
	own := scopes.edit(f.state, f.tenant, who.scope(f.tenant))
	own.Good = own.Good.latest(fact{f.stamp, run.ID})
	closing := slices.Clone(own.Failures)
	for _, s := range run.Failing {
		fl := failures.edit(f.state, f.tenant, s.Failure)
		if !f.recovered(incident{Scope: s.Scope, Run: run.ID, Step: s.Step, At: s.At}) || fl.LastRun != run.ID {
			continue
		}
		fl.Good = fl.Good.latest(fact{f.stamp, run.ID})
		if fl.Issue != "" && !slices.Contains(closing, s.Failure) {
			closing = append(closing, s.Failure)
		}
	}
	for _, id := range closing {
		f.say("auto-close", "a success in the scope of a failure")
		f.settleFailure(id, run)
		f.progress(failures.edit(f.state, f.tenant, id).Issue)
	}
}
