package rules

import "fmt"

// LabelFlapping is the label of an issue that flaps or flapped.
const LabelFlapping = "flapping"

// flaps counts a reopening of an issue by a failure. If it is one too many within
// the limit, the issue is flapping instead.
func (f *fold) flaps(issue *Issue, c *course) bool {
	limit := f.config.Flapping
	c.Reopened = append(within(c.Reopened, f.stamp.At, limit.Within+1), f.stamp.At)
	f.count("reopenings", len(c.Reopened), limit.Most)
	if len(c.Reopened) < limit.Most {
		f.say("reopened", fmt.Sprintf("reopening %d of %d within %s", len(c.Reopened), limit.Most, formatDuration(limit.Within)))
		return false
	}
	f.transition(issue.ID, Flapping, fmt.Sprintf("Reopened %d times within %s", len(c.Reopened), formatDuration(limit.Within)))
	f.label(issue.ID, LabelFlapping)
	f.state.setTimer(f.tenant, quietKind+"/"+issue.ID, after(f.stamp.At, f.config.Quiet))
	return true
}

// quiet reports whether nothing was heard of a flapping issue for long. If something
// was, it is looked at again later.
func (p *pass) quiet(id string) bool {
	c := courses.get(p.state, p.tenant, id)
	if c == nil {
		return false
	}
	quiet := after(c.Heard, p.config.Quiet)
	if quiet.After(p.now) {
		p.state.setTimer(p.tenant, quietKind+"/"+id, quiet)
		return false
	}
	return true
}

// endFlapping brings a flapping issue to where the facts say, once nothing was
// heard of it for long enough.
func (f *fold) endFlapping(id string) {
	issue := all.get(f.state, f.tenant, id)
	if issue == nil || issue.Status != Flapping || !f.quiet(id) {
		return
	}
	c := courses.edit(f.state, f.tenant, id)
	c.Reopened = nil
	f.say("quiet", fmt.Sprintf("nothing was heard of issue %s for %s", id, formatDuration(f.config.Quiet)))
	to, reason := f.facts(c)
	if to == Closed && c.Edit != nil && c.Edit.Action == reopened && !f.outranks(c, to) {
		to, reason = Open, "A person keeps it open"
	}
	f.transition(id, to, reason)
}

// calm ends the flapping of an issue before a fact of now, if that is due.
func (f *fold) calm(id string) {
	issue := all.get(f.state, f.tenant, id)
	if issue == nil || issue.Status != Flapping {
		return
	}
	if quiet := after(courses.edit(f.state, f.tenant, id).Heard, f.config.Quiet); !quiet.After(f.stamp.At) {
		stamp, now := f.stamp, f.now
		f.stamp.At, f.now = quiet, quiet
		f.endFlapping(id)
		f.stamp, f.now = stamp, now
	}
}

// facts returns where an issue stands by what is known of what it is about.
func (f *fold) facts(c *course) (Status, string) {
	switch {
	case c.Failure != "":
		return f.failureStatus(failures.edit(f.state, f.tenant, c.Failure))
	case c.Followup != "":
		return followups.edit(f.state, f.tenant, c.Followup).status()
	case c.Lineage != "":
		status := lineages.edit(f.state, f.tenant, f.resolve(c.Lineage)).status()
		return status, "Nothing was heard of it for " + formatDuration(f.config.Quiet)
	}
	return Open, ""
}
