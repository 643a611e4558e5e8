package rules

type facts struct{ records }

func (f facts) recovered(in incident) bool {
	return in.At.before(f.goodIn(in.Scope).Stamp) || in.At.before(f.goodIn(f.endScope(in.Run)).Stamp) ||
		in.At.before(f.goodEnd(in.Run)) || in.At.before(f.goodStep(in.Run, in.Step))
}

func (f facts) goodIn(id string) fact { return scopes.view(f.records, id).Good }

func (f facts) endScope(run string) string { return runs.view(f.records, run).Scope }

func (f facts) goodEnd(run string) Stamp { return runs.view(f.records, run).Settled }

func (f facts) goodStep(run, step string) Stamp {
	if step == "" {
		return Stamp{}
	}
	return steps.view(f.records, stepID(run, step)).Done
}

func (f facts) firstFailing(run *Run) (first Failing, found bool) {
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

func (f facts) inhibitor(in incident) (first Failing, inhibited bool) {
	r := runs.get(f.records, in.Run)
	if r == nil || r.Finished.isZero() || r.Success {
		return Failing{}, false
	}
	first, found := f.firstFailing(r)
	return first, found && first.Failure != in.Failure
}

func (f facts) blocks(in incident) bool {
	l := lineages.get(f.records, f.resolve(in.Lineage))
	if l == nil || l.status() != Blocked || in.At.before(f.goodStep(in.Run, in.Step)) {
		return false
	}
	for _, r := range l.Roles {
		if r.Unit == in.Unit && (r.Name == in.Role || r.Name == childRun && in.Unit != "") && in.At.before(r.Done) {
			return false
		}
	}
	return !in.At.before(l.Settled)
}

func (f facts) goodFor(fl *failure) fact {
	good := fl.Good
	for _, s := range fl.Scopes {
		good = good.latest(f.goodIn(s))
	}
	return good
}

func (f facts) isCritical(failure string) bool { return failures.view(f.records, failure).Critical }

func (f facts) failureStatus(fl *failure) (Status, string) {
	if fl.Last.before(f.goodFor(fl).Stamp) {
		return Closed, "A later success in the same scope"
	}
	return Open, "It failed again"
}

func (f facts) status(c *course, config *Config) (Status, string) {
	switch {
	case c.Failure != "":
		return f.failureStatus(failures.view(f.records, c.Failure))
	case c.Followup != "":
		return followups.view(f.records, c.Followup).status()
	case c.Lineage != "":
		status := lineages.view(f.records, f.resolve(c.Lineage)).status()
		return status, "Nothing was heard of it for " + FormatDuration(config.Quiet)
	}
	return Open, ""
}

func (f facts) since(c *course, to Status, now Stamp) fact {
	switch {
	case c.Failure != "":
		fl := failures.view(f.records, c.Failure)
		if to == Closed {
			return f.goodFor(fl)
		}
		return fact{Stamp: fl.Last}
	case c.Followup != "":
		u := followups.view(f.records, c.Followup)
		if to == Closed {
			return u.Done.latest(u.Withdrawn)
		}
		return fact{Stamp: u.Last}
	case c.Lineage != "":
		l := lineages.view(f.records, f.resolve(c.Lineage))
		if to == Closed {
			return l.Finished
		}
		return fact{Stamp: l.Progress.later(l.Worked).later(now)}
	}
	return fact{Stamp: now}
}

func (f facts) failureIssue(run *Run) string {
	for _, s := range run.Failing {
		if fl := failures.get(f.records, s.Failure); fl != nil && fl.Issue != "" && f.isOpen(fl.Issue) {
			return fl.Issue
		}
	}
	return ""
}

func (f facts) isInfrastructure(failure string) bool {
	return failures.view(f.records, failure).Class != ""
}

func (f facts) follower(run string) string {
	return lineages.view(f.records, f.lineageOf(runs.view(f.records, run))).follower()
}
