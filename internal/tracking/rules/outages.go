package rules

type outageDetector struct {
	draft *draft
	facts facts
}

func (o *outageDetector) covers(why cause) bool {
	d := o.draft
	run := d.run()
	if run.Begun || why.good() {
		return false
	}
	if d.config.infrastructure(why.failure) == "" {
		first, found := o.facts.firstFailing(run)
		if !found || !o.facts.isInfrastructure(first.Failure) || why.bad() && !why.end {
			return false
		}
	}
	d.say("outage", "infrastructure failed, and no start of the run came: no issue follows it yet")
	d.flip("a run.started of the run")
	return true
}

func (o *outageDetector) ignores(run *Run, id string) bool {
	c := courses.get(o.draft.records, id)
	return run.Begun && o.draft.config.tracks(run.Type) && c != nil && o.facts.isInfrastructure(c.Failure)
}
