package rules

import (
	"fmt"
	"time"
)

// LabelFlapping marks an issue that is or was flapping.
const LabelFlapping = "flapping"

type motive struct {
	reason  string
	failure bool
	recurs  bool // the work was left undone again
	run     *Run // run of the fact, or nil for a timer or a person
}

func (m motive) after(edited Stamp) bool {
	return (m.failure || m.recurs) && m.run != nil && m.run.First.After(edited.At)
}

type transitions struct {
	draft   *draft
	journal *journal
	facts   facts
	people  *people
}

func (t *transitions) move(id string, to Status, why motive) {
	d := t.draft
	issue := issues.get(d.records, id)
	if issue == nil {
		return
	}
	d.touch(id)
	c := courses.edit(d.records, id)
	c.Heard = latest(c.Heard, d.stamp.At)
	if issue.Status == Flapping {
		d.say("flapping", fmt.Sprintf("issue %s is flapping and moves no more until %s without failure or success", id, d.config.Quiet))
		d.flip("so long a time without either")
		return
	}
	if issue.Status == to {
		d.say("same status", fmt.Sprintf("issue %s stays %s", id, to))
		d.flip(flipOfStay(to))
		return
	}
	if t.people.overrules(issue, c, to, why) {
		return
	}
	if issue.Status == Closed && to != Closed && why.failure && t.flaps(issue, c) {
		return
	}
	t.journal.transition(id, to, why.reason)
}

func (t *transitions) flaps(issue *Issue, c *course) bool {
	d := t.draft
	fast, slow := d.config.Flapping, d.config.Relapses
	c.Reopened = append(within(c.Reopened, d.stamp.At, max(fast.Within, slow.Within)+1), d.stamp.At)
	recent, limit := len(within(c.Reopened, d.stamp.At, fast.Within+1)), fast
	d.count("reopenings", recent, fast.Most)
	// slow.Most is 0 in a configuration of a version that did not have this limit.
	if all := len(within(c.Reopened, d.stamp.At, slow.Within+1)); recent < fast.Most && slow.Most > 0 {
		recent, limit = all, slow
		d.count("relapses", all, slow.Most)
	}
	if recent < limit.Most {
		d.say("reopened", fmt.Sprintf("reopening %d of %d within %s", recent, limit.Most, FormatDuration(limit.Within)))
		return false
	}
	t.journal.transition(issue.ID, Flapping, fmt.Sprintf("Reopened %d times within %s", recent, FormatDuration(limit.Within)))
	t.journal.label(issue.ID, LabelFlapping)
	d.setTimer(quietKind+"/"+issue.ID, after(d.stamp.At, d.config.Quiet))
	return true
}

func (t *transitions) inactive(id string, now time.Time) bool {
	c := courses.get(t.draft.records, id)
	if c == nil {
		return false
	}
	end := after(c.Heard, t.draft.config.Quiet)
	if end.After(now) {
		t.draft.setTimer(quietKind+"/"+id, end)
		return false
	}
	return true
}

func (t *transitions) endFlapping(id string) {
	d := t.draft
	if d.status(id) != Flapping || !t.inactive(id, d.now) {
		return
	}
	c := courses.edit(d.records, id)
	c.Reopened = nil
	d.say("quiet", fmt.Sprintf("nothing was heard of issue %s for %s", id, FormatDuration(d.config.Quiet)))
	to, reason := t.facts.status(c, d.config)
	switch {
	case to != Closed:
	case t.facts.isCritical(c.Failure):
		to, reason = Open, "It is critical, so only a person closes it"
	case c.Edit != nil && c.Edit.Action == reopened && !t.people.outranks(c, to):
		to, reason = Open, "A person keeps it open"
	}
	t.journal.transition(id, to, reason)
}

func (t *transitions) calm(id string) {
	d := t.draft
	if d.status(id) != Flapping {
		return
	}
	if end := after(courses.edit(d.records, id).Heard, d.config.Quiet); !end.After(d.stamp.At) {
		d.as(end, func() { t.endFlapping(id) })
	}
}

func (t *transitions) outlived(id string) bool {
	d := t.draft
	issue := issues.get(d.records, id)
	if issue == nil || issue.Status != Closed || d.stamp.At.Sub(issue.Closed) <= d.config.Regression {
		return false
	}
	return !t.people.notPlanned(courses.get(d.records, id))
}
