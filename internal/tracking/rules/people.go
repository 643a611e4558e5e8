package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hooktrail/hooktrail/internal/tracking/rules/metadata"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Actions of edits.
const (
	notPlanned = "not_planned"
	closedBy   = "closed"
	reopened   = "reopened"
	assigned   = "assigned"
	retitled   = "retitled"
)

type edit struct {
	Action string `json:"action"`
	Title  string `json:"title,omitempty"` // new title, if retitled
	Why    string `json:"why,omitempty"`   // reason for closing
	By     string `json:"by,omitempty"`
	At     Stamp  `json:"at"`
	Event  string `json:"event,omitempty"` // id of the issue.edited event, set while the edit waits
}

const maxEdits = 8

type people struct {
	draft   *draft
	journal *journal
	facts   facts
}

func (p *people) edited() error {
	d := p.draft
	data, err := events.Payload[events.IssueEditedData](d.event)
	if err != nil {
		return fmt.Errorf("read data: %w", err)
	}
	e := edit{Action: data.Action, By: clean(data.By, 100), At: d.stamp}
	switch e.Action {
	case retitled:
		e.Title = clean(data.Value, maxTitle)
	case closedBy, notPlanned:
		e.Why = clean(data.Value, maxTitle)
	case reopened, assigned:
	default:
		d.say("edited", "a person's edit of a kind that decides nothing is recorded")
		return nil
	}
	if data.Issue != "" {
		p.apply(clean(data.Issue, 64), e) // no id is longer
		return nil
	}
	if len(data.Event) > events.MaxAttributeBytes {
		d.say("edited", "a person's edit is recorded; it names no event that there can be")
		return nil
	}
	m := marks.get(d.records, data.Event)
	if data.Event == "" || m != nil && m.Given {
		p.apply(m.subject(), e)
		return nil
	}
	d.say("edit waits", "a person's edit waits for what the event comes to")
	if m := marks.edit(d.records, data.Event); len(m.Edits) < maxEdits {
		e.Event = d.event.ID
		m.Edits = append(m.Edits, e)
	}
	return nil
}

func (p *people) settle() {
	d := p.draft
	if !Considered(d.event.Kind()) && len(d.decision.Occurs) == 0 {
		return
	}
	m := marks.edit(d.records, markID(d.records, d.event.ID, d.event.Source))
	m.Given = true
	named := append(p.created(true), p.created(false)...)
	for _, id := range append(named, d.decision.Occurs...) {
		if len(m.Issues) < metadata.MaxItems && !slices.Contains(m.Issues, id) {
			m.Issues = append(m.Issues, id)
		}
	}
	waiting := m.Edits
	m.Edits = nil
	for _, e := range waiting {
		p.apply(m.subject(), e)
	}
}

func (p *people) created(followups bool) (list []string) {
	for _, id := range p.draft.made {
		if issue := issues.get(p.draft.records, id); issue != nil && (issue.Kind == Followup) == followups {
			list = append(list, id)
		}
	}
	return list
}

func (p *people) apply(id string, e edit) {
	d := p.draft
	issue := issues.get(d.records, id)
	if issue == nil {
		d.say("edited", "a person's edit is recorded; it names no issue that there is")
		return
	}
	d.touch(id)
	c := courses.edit(d.records, id)
	if e.Title != "" && !c.Titled.At.After(e.At.At) {
		p.journal.retitle(id, e.Title)
		c.Titled = e.At
	}
	if c.Edit != nil && e.At.before(c.Edit.At) {
		d.say("late edit", "a later edit of the issue is known")
		return
	}
	by := e.summary()
	d.say("people win", fmt.Sprintf("issue %s: %s", id, by)) // without the reason, because decisions quote no text
	if e.Action == assigned || e.Action == retitled {
		return
	}
	if e.Why != "" {
		by += ": " + e.Why
	}
	e.Why, e.Event = "", "" // the issue stores the reason
	c.Edit, c.Reopened = &e, nil
	d.clearTimer(quietKind + "/" + id)
	if to := p.wanted(c); to != issue.Status {
		p.journal.transition(id, to, sentence(by))
		d.flip("no such edit")
	}
	if d.isOpen(id) {
		p.expose(c)
	}
}

func (p *people) expose(c *course) {
	r := p.draft.records
	if c.Failure != "" {
		indexFailure(r, c.Failure, failures.edit(r, c.Failure))
	}
	if c.Followup != "" {
		indexFollowup(r, c.Followup, followups.edit(r, c.Followup))
	}
}

func (e edit) summary() string {
	what := e.Action
	if what == notPlanned {
		what = "closed as not planned"
	}
	return what + " by " + cmp.Or(e.By, "a person")
}

func (p *people) wanted(c *course) Status {
	if c.Edit.Action != reopened {
		return Closed
	}
	if to, _ := p.facts.status(c, p.draft.config); p.outranks(c, to) {
		return to
	}
	return Open
}

func (p *people) outranks(c *course, to Status) bool {
	if to == Closed && c.Failure != "" {
		return false
	}
	if to == Blocked {
		return true
	}
	why := p.facts.since(c, to, p.draft.stamp)
	if !c.Edit.At.before(why.Stamp) {
		return false
	}
	run := runs.get(p.draft.records, why.Run)
	return run == nil || run.Ended.isZero() || !run.Ended.before(c.Edit.At) || c.Edit.At.before(run.Started)
}

func (p *people) overrules(issue *Issue, c *course, to Status, why motive) bool {
	d := p.draft
	switch {
	case to == Closed && p.facts.isCritical(c.Failure):
		d.say("critical", fmt.Sprintf("issue %s is critical: only a person closes it", issue.ID))
		d.flip("a person's edit, or another severity")
		return true
	case c.Edit == nil:
		return false
	case p.notPlanned(c):
		d.say("people win", fmt.Sprintf("issue %s was closed as not planned: counted only", issue.ID))
		d.flip(fmt.Sprintf("%s since then", FormatDuration(d.config.NotPlanned)))
		return true
	case c.Edit.Action == reopened && !p.outranks(c, to):
		d.say("people win", fmt.Sprintf("a person reopened issue %s: %s", issue.ID, p.kept(c)))
		d.flip(p.flipOfKept(c))
		return true
	case c.Edit.Action == reopened:
		return false
	case issue.Status == Closed && !why.after(c.Edit.At):
		d.say("people win", fmt.Sprintf("a person closed issue %s: only a failure of a later run reopens it", issue.ID))
		d.flip("a failure of a run that started later")
		return true
	}
	c.Edit = nil // the facts decide again
	return false
}

func (p *people) kept(c *course) string {
	if c.Failure != "" {
		return "only a person closes it"
	}
	return "only what came later moves it"
}

func (p *people) flipOfKept(c *course) string {
	if c.Failure != "" {
		return "a person who closes it"
	}
	return "a success later than that, of a run that had not ended by then"
}

func (p *people) notPlanned(c *course) bool {
	return c != nil && c.Edit != nil && c.Edit.Action == notPlanned && p.draft.stamp.At.Before(c.Edit.At.At.Add(p.draft.config.NotPlanned))
}
