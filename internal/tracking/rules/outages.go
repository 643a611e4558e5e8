package rules

import "github.com/hooktrail/hooktrail/internal/tracking/rules/fingerprint"

type outageDetector struct {
	draft *draft
	facts facts
}

// covers reports whether a failed run gets no tracking issue, because an outage explains its
// failure. The run must have no run.started event, and either this failure or, at the run's end,
// the first one that has not recovered must be an infrastructure failure.
func (o *outageDetector) covers(why cause) bool {
	d := o.draft
	run := d.run()
	if run.Begun || why.good() {
		return false
	}
	if fingerprint.Class(why.failure.Class, d.config.Ordinary) == "" {
		first, found := o.facts.firstFailing(run)
		if !found || !o.facts.isInfrastructure(first.Failure) || why.bad() && !why.end {
			return false
		}
	}
	d.say("outage", "infrastructure failed, and no start of the run came: no issue follows it yet")
	d.flip("a run.started of the run")
	return true
}

// ignores reports whether a run gets a tracking issue although its failure has the issue id
// already. This is so if the run has started and has a tracked type, and the failure is of the
// infrastructure.
func (o *outageDetector) ignores(run *Run, id string) bool {
	c := courses.get(o.draft.records, id)
	return run.Begun && o.draft.config.tracks(run.Type) && c != nil && o.facts.isInfrastructure(c.Failure)
}
