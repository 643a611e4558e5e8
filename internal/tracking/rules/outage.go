package rules

// outage reports whether a run of which no start came only fails by its
// infrastructure, as far as is known: then the tenant's issue about that is enough.
func (f *fold) outage(why cause) bool {
	run := f.run()
	if run.Begun || why.good() {
		return false
	}
	if f.config.infrastructure(why.failure.Class) == "" {
		first, found := f.firstFailing(run)
		if !found || !f.isOutage(first.Failure) || why.bad() && !why.end {
			return false
		}
	}
	f.say("outage", "infrastructure failed, and no start of the run came: no issue follows it yet")
	f.decision.Flip = "a run.started of the run"
	return true
}

// isOutage reports whether a failure is one of infrastructure.
func (f *fold) isOutage(failure string) bool {
	fl := failures.get(f.state, f.tenant, failure)
	return fl != nil && fl.Class != ""
}

// startsInOutage reports whether the run is to be followed from its start on,
// although the issue id is about a failure of it: that is the tenant's outage.
func (f *fold) startsInOutage(run *Run, id string) bool {
	c := courses.get(f.state, f.tenant, id)
	return run.Begun && f.config.tracks(run.Type) && c != nil && f.isOutage(c.Failure)
}
