package rules

import (
	"fmt"
	"slices"
	"time"
)

// all are the issues; what others do not see of them is their course.
var all = table[Issue]{IssueKind, func(i *Issue) {
	i.Links, i.Labels, i.Runs = slices.Clone(i.Links), slices.Clone(i.Labels), slices.Clone(i.Runs)
}}

// course is what is kept of an issue to know where it may go.
type course struct {
	Lineage  string      `json:"lineage,omitempty"` // that it follows
	Failure  string      `json:"failure,omitempty"` // that it is about
	Followup string      `json:"followup,omitempty"`
	Out      string      `json:"out,omitempty"`      // the lineage out of which it was made
	Reopened []time.Time `json:"reopened,omitempty"` // by failures, lately
	Heard    time.Time   `json:"heard,omitzero"`     // the latest fact about it
	Edit     *edit       `json:"edit,omitempty"`     // the latest of a person's that says where it stands
	Titled   Stamp       `json:"titled,omitzero"`    // when a person gave it its title
}

var courses = table[course]{"course", func(c *course) { c.Reopened = slices.Clone(c.Reopened) }}

// motive is why an issue is to be where the facts say.
type motive struct {
	reason  string
	failure bool // the fact is a failure
	recurs  bool // it is a follow-up that was left over again
	run     *Run // whose fact it is; nil: of time or of a person
}

// create makes an issue, and records that the event belongs to it.
func (f *fold) create(issue Issue, c course) {
	issue.Tenant, issue.Run = f.tenant, f.event.Run
	issue.Updated = f.stamp.At
	if issue.Created.IsZero() {
		issue.Created = f.stamp.At
	}
	if issue.Status == Closed { // it ended before this was heard of
		issue.Closed = issue.Updated
	}
	f.made = append(f.made, issue.ID)
	*all.edit(f.state, f.tenant, issue.ID) = issue
	c.Heard = f.stamp.At
	*courses.edit(f.state, f.tenant, issue.ID) = c
	f.occur(issue.ID)
	made := issue
	f.effect(Effect{Op: OpCreate, ID: issue.ID, At: issue.Updated, Issue: &made, To: issue.Status, Reason: issue.Reason})
	f.reasons = append(f.reasons, fmt.Sprintf("made %s issue %s, %s", issue.Kind, issue.ID, issue.Status))
}

// maxRuns bounds the runs that an issue names.
const maxRuns = 20

// occur says that the event is an occurrence of the issue id.
func (f *fold) occur(id string) {
	issue := all.get(f.state, f.tenant, id)
	if id == "" || issue == nil || slices.Contains(f.decision.Occurs, id) {
		return
	}
	f.touch(id)
	f.decision.Occurs = append(f.decision.Occurs, id)
	own := all.edit(f.state, f.tenant, id)
	own.Count++
	if own.First.IsZero() || f.stamp.At.Before(own.First) {
		own.First = f.stamp.At
	}
	if f.stamp.At.After(own.Last) {
		own.Last = f.stamp.At
	}
	if f.event.Run != "" && len(own.Runs) < maxRuns && !slices.Contains(own.Runs, f.event.Run) {
		own.Runs = append(own.Runs, f.event.Run)
	}
}

// move brings the issue id to where the facts say that it stands, unless a
// person or the rules against flapping are in the way.
func (f *fold) move(id string, to Status, why motive) {
	issue := all.get(f.state, f.tenant, id)
	if issue == nil {
		return
	}
	f.touch(id)
	c := courses.edit(f.state, f.tenant, id)
	if f.stamp.At.After(c.Heard) {
		c.Heard = f.stamp.At
	}
	if issue.Status == Flapping {
		f.say("flapping", fmt.Sprintf("issue %s is flapping and moves no more until %s without failure or success", id, f.config.Quiet))
		f.decision.Flip = "so long a time without either"
		return
	}
	if issue.Status == to {
		f.say("same status", fmt.Sprintf("issue %s stays %s", id, to))
		f.decision.Flip = leaves(to)
		return
	}
	if f.overruled(issue, c, to, why) {
		return
	}
	if issue.Status == Closed && to != Closed && why.failure && f.flaps(issue, c) {
		return
	}
	f.transition(id, to, why.reason)
}

// transition moves the issue id to status to.
func (f *fold) transition(id string, to Status, reason string) {
	issue := all.edit(f.state, f.tenant, id)
	from := issue.Status
	issue.Status, issue.Reason = to, reason
	if f.stamp.At.After(issue.Updated) {
		issue.Updated = f.stamp.At
	}
	issue.Closed = time.Time{}
	if to == Closed {
		issue.Closed = issue.Updated
	}
	f.effect(Effect{
		Op: OpTransition, ID: id, At: issue.Updated, To: to, Reopen: from == Closed && to != Closed, Reason: reason,
	})
	f.say(string(to), fmt.Sprintf("issue %s moved from %s to %s", id, from, to))
	f.decision.Flip = keeps(to)
}

func (f *fold) link(id string, link Link) {
	issue := all.get(f.state, f.tenant, id)
	if issue == nil || slices.Contains(issue.Links, link) {
		return
	}
	own := all.edit(f.state, f.tenant, id)
	own.Links = append(own.Links, link)
	f.effect(Effect{Op: OpLink, ID: id, At: f.stamp.At, Link: &link})
}

// label adds a label to the issue id, and reports whether it is new there.
func (f *fold) label(id, label string) bool {
	issue := all.get(f.state, f.tenant, id)
	if issue == nil || slices.Contains(issue.Labels, label) {
		return false
	}
	own := all.edit(f.state, f.tenant, id)
	own.Labels = append(own.Labels, label)
	f.effect(Effect{Op: OpLabel, ID: id, At: f.stamp.At, Label: label})
	return true
}

func (f *fold) note(id, text string) {
	f.effect(Effect{Op: OpNote, ID: id, At: f.stamp.At, Text: text})
}

// statusOf returns the status of the issue id, none if there is no such issue.
func (p *pass) statusOf(id string) Status {
	issue := all.get(p.state, p.tenant, id)
	if issue == nil {
		return ""
	}
	return issue.Status
}

// isOpen reports whether there is an issue id that is not closed.
func (p *pass) isOpen(id string) bool {
	s := p.statusOf(id)
	return s != "" && s != Closed
}

// keeps says what would have kept an issue from moving to status s.
func keeps(s Status) string {
	switch s {
	case Closed:
		return "an end without success"
	case Blocked:
		return "success"
	case InProgress:
		return "no sign of work after it"
	case Flapping:
		return "fewer reopenings, or more time between them"
	case Open:
	}
	return "no failure and no work in it"
}

// leaves says what would have moved an issue out of status s.
func leaves(s Status) string {
	switch s {
	case Closed:
		return "a failure later than the success that closed it, or work later than the end of its run"
	case Blocked:
		return "a completed step of the role that failed, or a successful end of the run"
	case InProgress:
		return "a failed step, or the end of the run"
	case Flapping, Open:
	}
	return "a success in its scope, or work"
}
