package rules

import (
	"fmt"
	"slices"
	"time"
)

var issues = table[Issue]{IssueKind, func(i *Issue) {
	i.Links, i.Labels, i.Runs = slices.Clone(i.Links), slices.Clone(i.Labels), slices.Clone(i.Runs)
}}

type course struct {
	Lineage  string      `json:"lineage,omitempty"`
	Failure  string      `json:"failure,omitempty"`
	Followup string      `json:"followup,omitempty"`
	Out      string      `json:"out,omitempty"`      // lineage that caused the issue
	Reopened []time.Time `json:"reopened,omitempty"` // recent reopenings by failures
	Heard    time.Time   `json:"heard,omitzero"`     // latest fact
	Edit     *edit       `json:"edit,omitempty"`     // latest edit of the status by a person
	Titled   Stamp       `json:"titled,omitzero"`    // latest edit of the title by a person
}

var courses = table[course]{"course", func(c *course) { c.Reopened = slices.Clone(c.Reopened) }}

type journal struct{ draft *draft }

func (j *journal) create(issue Issue, c course) {
	d := j.draft
	issue.Tenant, issue.Run = d.tenant, d.event.Run
	issue.Updated = d.stamp.At
	if issue.Created.IsZero() {
		issue.Created = d.stamp.At
	}
	if issue.Status == Closed { // the work ended before this event arrived
		issue.Closed = issue.Updated
	}
	d.made = append(d.made, issue.ID)
	*issues.edit(d.records, issue.ID) = issue
	c.Heard = d.stamp.At
	*courses.edit(d.records, issue.ID) = c
	j.occur(issue.ID)
	d.effect(Effect{Op: OpCreate, ID: issue.ID, At: issue.Updated, Issue: &issue, To: issue.Status, Reason: issue.Reason})
	d.reasons = append(d.reasons, fmt.Sprintf("made %s issue %s, %s", issue.Kind, issue.ID, issue.Status))
}

const maxRuns = 20

func (j *journal) occur(id string) {
	d := j.draft
	if id == "" || issues.get(d.records, id) == nil || slices.Contains(d.decision.Occurs, id) {
		return
	}
	d.touch(id)
	d.decision.Occurs = append(d.decision.Occurs, id)
	issue := issues.edit(d.records, id)
	issue.Count++
	if issue.First.IsZero() || d.stamp.At.Before(issue.First) {
		issue.First = d.stamp.At
	}
	issue.Last = latest(issue.Last, d.stamp.At)
	if run := d.event.Run; run != "" && len(issue.Runs) < maxRuns && !slices.Contains(issue.Runs, run) {
		issue.Runs = append(issue.Runs, run)
	}
}

func (j *journal) transition(id string, to Status, reason string) {
	d := j.draft
	issue := issues.edit(d.records, id)
	from := issue.Status
	issue.Status, issue.Reason = to, reason
	issue.Updated = latest(issue.Updated, d.stamp.At)
	issue.Closed = time.Time{}
	if to == Closed {
		issue.Closed = issue.Updated
	}
	d.effect(Effect{
		Op: OpTransition, ID: id, At: issue.Updated, To: to, Reopen: from == Closed && to != Closed, Reason: reason,
	})
	d.say(string(to), fmt.Sprintf("issue %s moved from %s to %s", id, from, to))
	d.flip(flipOfMove(to))
}

func (j *journal) link(id string, link Link) {
	d := j.draft
	if issue := issues.get(d.records, id); issue == nil || slices.Contains(issue.Links, link) {
		return
	}
	issue := issues.edit(d.records, id)
	issue.Links = append(issue.Links, link)
	d.effect(Effect{Op: OpLink, ID: id, At: d.stamp.At, Link: &link})
}

func (j *journal) label(id, label string) bool {
	d := j.draft
	if issue := issues.get(d.records, id); issue == nil || slices.Contains(issue.Labels, label) {
		return false
	}
	issue := issues.edit(d.records, id)
	issue.Labels = append(issue.Labels, label)
	d.effect(Effect{Op: OpLabel, ID: id, At: d.stamp.At, Label: label})
	return true
}

func (j *journal) note(id, text string) {
	j.draft.effect(Effect{Op: OpNote, ID: id, At: j.draft.stamp.At, Text: text})
}

func (j *journal) describe(id, text string) bool {
	d := j.draft
	issue := issues.edit(d.records, id)
	if issue.Description == text {
		return false
	}
	issue.Description = text
	d.effect(Effect{Op: OpDescribe, ID: id, At: d.stamp.At, Text: text})
	return true
}

// retitle changes only the record of the issue, because a person has already changed the title in
// the issue tracker.
func (j *journal) retitle(id, title string) { issues.edit(j.draft.records, id).Title = title }

func (r records) status(id string) Status { return issues.view(r, id).Status }

func (r records) isOpen(id string) bool {
	s := r.status(id)
	return s != "" && s != Closed
}

func flipOfMove(s Status) string {
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

func flipOfStay(s Status) string {
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
