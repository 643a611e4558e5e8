package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// What a person may do to an issue.
const (
	notPlanned = "not_planned"
	closedBy   = "closed"
	reopened   = "reopened"
	assigned   = "assigned"
	retitled   = "retitled"
)

// edit is a person's edit of an issue.
type edit struct {
	Action string `json:"action"`
	Title  string `json:"title,omitempty"` // retitled: the new one
	Why    string `json:"why,omitempty"`   // closed: what the person says
	By     string `json:"by,omitempty"`
	At     Stamp  `json:"at"`
	Event  string `json:"event,omitempty"` // that says it, while it waits
}

// maxEdits bounds the edits that wait for one event.
const maxEdits = 8

// edited takes in a person's edit. One that names an event waits for it, if it is
// held or not known yet.
func (f *fold) edited() error {
	d, err := events.Payload[events.IssueEditedData](f.event)
	if err != nil {
		return fmt.Errorf("read data: %w", err)
	}
	e := edit{Action: d.Action, By: clean(d.By, 100), At: f.stamp}
	switch e.Action {
	case retitled:
		e.Title = clean(d.Value, maxTitle)
	case closedBy, notPlanned:
		e.Why = clean(d.Value, maxTitle)
	}
	switch e.Action {
	case notPlanned, closedBy, reopened, assigned, retitled:
	default:
		f.say("edited", "a person's edit of a kind that decides nothing is recorded")
		return nil
	}
	if d.Issue != "" {
		f.applyEdit(clean(d.Issue, 64), e) // no id is longer
		return nil
	}
	if len(d.Event) > events.MaxAttributeBytes {
		f.say("edited", "a person's edit is recorded; it names no event that there can be")
		return nil
	}
	m := marks.get(f.state, f.tenant, d.Event)
	if d.Event == "" || m != nil && m.Given {
		f.applyEdit(m.subject(), e)
		return nil
	}
	f.say("edit waits", "a person's edit waits for what the event comes to")
	if own := marks.edit(f.state, f.tenant, d.Event); len(own.Edits) < maxEdits {
		e.Event = f.event.ID
		own.Edits = append(own.Edits, e)
	}
	return nil
}

// subject returns the issue that an edit means that names the event.
func (m *mark) subject() string {
	if m == nil || len(m.Issues) == 0 {
		return ""
	}
	return m.Issues[0]
}

// settleEdits notes to which issues the event belongs, and takes in the edits that
// waited for it.
func (f *fold) settleEdits() {
	if !Considered(f.event.Kind()) {
		return
	}
	m := marks.edit(f.state, f.tenant, f.markID(f.event.ID, f.event.Source))
	m.Given = true
	named := append(f.madeOf(true), f.madeOf(false)...)
	for _, id := range append(named, f.decision.Occurs...) {
		if len(m.Issues) < maxItems && !slices.Contains(m.Issues, id) {
			m.Issues = append(m.Issues, id)
		}
	}
	waiting := m.Edits
	m.Edits = nil
	for _, e := range waiting {
		f.applyEdit(m.subject(), e)
	}
}

// madeOf returns the issues that the event made: the follow-ups, or the others.
func (f *fold) madeOf(followups bool) (list []string) {
	for _, id := range f.made {
		if issue := all.get(f.state, f.tenant, id); issue != nil && (issue.Kind == Followup) == followups {
			list = append(list, id)
		}
	}
	return list
}

// applyEdit takes in a person's edit of the issue id.
func (f *fold) applyEdit(id string, e edit) {
	issue := all.get(f.state, f.tenant, id)
	if issue == nil {
		f.say("edited", "a person's edit is recorded; it names no issue that there is")
		return
	}
	f.touch(id)
	c := courses.edit(f.state, f.tenant, id)
	if e.Title != "" && !c.Titled.At.After(e.At.At) {
		all.edit(f.state, f.tenant, id).Title, c.Titled = e.Title, e.At
	}
	if c.Edit != nil && e.At.before(c.Edit.At) {
		f.say("late edit", "a later edit of the issue is known")
		return
	}
	by := e.told()
	f.say("people win", fmt.Sprintf("issue %s: %s", id, by)) // not why: decisions quote nothing
	if e.Action == assigned || e.Action == retitled {
		return
	}
	if e.Why != "" {
		by += ": " + e.Why
	}
	e.Why, e.Event = "", "" // the issue has it
	c.Edit, c.Reopened = &e, nil
	f.state.clearTimer(f.tenant, quietKind+"/"+id)
	if to := f.wanted(c); to != issue.Status {
		f.transition(id, to, sentence(by))
		f.decision.Flip = "no such edit"
	}
	if f.isOpen(id) {
		f.expose(c)
	}
}

// expose makes an issue known where a success would look for it.
func (f *fold) expose(c *course) {
	if c.Failure != "" {
		f.open(c.Failure, failures.edit(f.state, f.tenant, c.Failure))
	}
	if c.Followup != "" {
		f.index(c.Followup, followups.edit(f.state, f.tenant, c.Followup))
	}
}

// told says what was done, and by whom.
func (e edit) told() string {
	what := e.Action
	if what == notPlanned {
		what = "closed as not planned"
	}
	return what + " by " + cmp.Or(e.By, "a person")
}

// wanted returns the status that an issue has by the latest edit of a person: facts
// that are later may be known already.
func (f *fold) wanted(c *course) Status {
	if c.Edit.Action != reopened {
		return Closed
	}
	if to, _ := f.facts(c); f.outranks(c, to) {
		return to
	}
	return Open
}

// outranks reports whether an issue that a person reopened is to have a status that
// the facts say: by one that is later than the edit, and not of a run that had ended
// by then. What blocks it does so whenever it was.
func (f *fold) outranks(c *course, to Status) bool {
	if to == Blocked {
		return true
	}
	why := f.since(c, to)
	if !c.Edit.At.before(why.Stamp) {
		return false
	}
	run := runs.get(f.state, f.tenant, why.Run)
	return run == nil || run.Ended.isZero() || !run.Ended.before(c.Edit.At) || c.Edit.At.before(run.Started)
}

// since returns the fact by which an issue has a status.
func (f *fold) since(c *course, to Status) fact {
	switch {
	case c.Failure != "":
		fl := failures.edit(f.state, f.tenant, c.Failure)
		if to == Closed {
			return f.goodFor(fl)
		}
		return fact{Stamp: fl.Last}
	case c.Followup != "":
		u := followups.edit(f.state, f.tenant, c.Followup)
		if to == Closed {
			return u.Done.latest(u.Withdrawn)
		}
		return fact{Stamp: u.Last}
	case c.Lineage != "":
		l := lineages.edit(f.state, f.tenant, f.resolve(c.Lineage))
		if to == Closed {
			return l.Finished
		}
		return fact{Stamp: l.Progress.later(l.Worked).later(f.stamp)}
	}
	return fact{Stamp: f.stamp}
}

// overruled reports whether a person's edit forbids the issue to move.
func (f *fold) overruled(issue *Issue, c *course, to Status, why motive) bool {
	switch {
	case c.Edit == nil:
		return false
	case f.notPlanned(c):
		f.say("people win", fmt.Sprintf("issue %s was closed as not planned: counted only", issue.ID))
		f.decision.Flip = fmt.Sprintf("%s since then", formatDuration(f.config.NotPlanned))
		return true
	case c.Edit.Action == reopened && !f.outranks(c, to):
		f.say("people win", fmt.Sprintf("a person reopened issue %s: only what came later moves it", issue.ID))
		f.decision.Flip = "a success later than that, of a run that had not ended by then"
		return true
	case c.Edit.Action == reopened:
		return false
	case issue.Status == Closed && !why.after(c.Edit.At):
		f.say("people win", fmt.Sprintf("a person closed issue %s: only a failure of a later run reopens it", issue.ID))
		f.decision.Flip = "a failure of a run that started later"
		return true
	}
	c.Edit = nil // what came later is the machine's again
	return false
}

// after reports whether the fact is a failure, or work left over, of a run that
// started later than an edit.
func (m motive) after(edited Stamp) bool {
	return (m.failure || m.recurs) && m.run != nil && m.run.First.After(edited.At)
}

// notPlanned reports whether a person wants no more of an issue for now.
func (f *fold) notPlanned(c *course) bool {
	return c != nil && c.Edit != nil && c.Edit.Action == notPlanned && f.stamp.At.Before(c.Edit.At.At.Add(f.config.NotPlanned))
}
