package rules

// blocks reports whether a failing step, whose run's issue it would block, has not
// been made good.
func (f *fold) blocks(in incident) bool {
	l := lineages.get(f.state, f.tenant, f.resolve(in.Lineage))
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

// endBlock decides on a failing step that was held, and reports whether it stands.
func (f *fold) endBlock(in incident) bool {
	l := lineages.edit(f.state, f.tenant, f.resolve(in.Lineage))
	f.occur(l.follower())
	if !f.blocks(in) {
		f.recoveredInTime()
		return false
	}
	f.move(l.Issue, Blocked, motive{reason: sentence(in.Name + " failed"), failure: true, run: runs.get(f.state, f.tenant, in.Run)})
	f.linkRegression(l)
	return true
}

func (f *fold) recoveredInTime() {
	f.say("recovered", "recorded only: it was recovered within that time")
	f.decision.Flip = "no success of its run, step or role within that time"
}

// endFailure decides on a failure that was held where no issue follows the run. It
// reports whether it stands.
func (f *fold) endFailure(in incident) bool {
	if id := f.lineageFollower(in.Run); id != "" {
		f.say("followed since", "an issue follows the run since then")
		f.occur(id)
		return false
	}
	if f.recovered(in) {
		f.recoveredInTime()
		return false
	}
	if first, inhibited := f.inhibitor(in); inhibited {
		f.say("inhibited", "the run failed, and this is part of the failure of its first failing step")
		in = in.partOf(first)
	}
	f.decision.Flip = "success of its run, step or scope within that time"
	if f.takes(failures.edit(f.state, f.tenant, in.Failure)) {
		f.recur(in)
	} else {
		f.raise(in, false)
	}
	return true
}

// lineageFollower returns the issue that follows the lineage of a run.
func (p *pass) lineageFollower(run string) string {
	r := runs.get(p.state, p.tenant, run)
	if r == nil {
		return ""
	}
	if l := lineages.get(p.state, p.tenant, p.lineageOf(r)); l != nil {
		return l.follower()
	}
	return ""
}

// inhibitor returns the first failing step of the incident's run if the run failed
// and that is another failure: then the incident is part of it.
func (f *fold) inhibitor(in incident) (first Failing, inhibited bool) {
	r := runs.get(f.state, f.tenant, in.Run)
	if r == nil || r.Finished.isZero() || r.Success {
		return Failing{}, false
	}
	first, found := f.firstFailing(r)
	return first, found && first.Failure != in.Failure
}
