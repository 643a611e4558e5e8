package rules

import (
	"slices"
	"time"
)

// Lineage is work that has one issue however many runs it takes: a run and its
// child runs, and the runs of the same type for the same work item.
type Lineage struct {
	Into       string    `json:"into,omitempty"` // the lineage that this one turned out to be part of
	Type       string    `json:"type,omitempty"` // of Root
	Root       string    `json:"root,omitempty"` // the latest run that is nobody's child
	Generation int       `json:"generation,omitempty"`
	Before     string    `json:"before,omitempty"` // the issue of the generation before
	Issue      string    `json:"issue,omitempty"`  // that follows this generation
	Digest     string    `json:"digest,omitempty"` // where it is listed for want of room
	Entry      int       `json:"entry,omitempty"`  // of the digest
	Followups  []string  `json:"followups,omitempty"`
	Created    int       `json:"created,omitempty"` // issues since it got on
	Roles      []Role    `json:"roles,omitempty"`
	Started    Stamp     `json:"started,omitzero"`  // the latest start of a root
	Worked     Stamp     `json:"worked,omitzero"`   // the latest step of a root
	Progress   Stamp     `json:"progress,omitzero"` // the latest step that did not fail
	Finished   fact      `json:"finished,omitzero"` // the latest end of a root
	Success    bool      `json:"success,omitempty"` // of that end
	Settled    Stamp     `json:"settled,omitzero"`  // the latest successful end of a root
	Seen       time.Time `json:"seen,omitzero"`     // the latest event of any kind
	Watched    bool      `json:"watched,omitempty"` // a timer looks whether anything is heard of it
	Silent     bool      `json:"silent,omitempty"`  // nothing was: the label is due
}

var lineages = table[Lineage]{"lineage", func(l *Lineage) {
	l.Roles, l.Followups = slices.Clone(l.Roles), slices.Clone(l.Followups)
}}

func runLineage(run string) string { return "run/" + run }

func workLineage(runType, item string) string { return "work/" + runType + "/" + item }

// unit returns what a run is within its lineage: nothing of its own if it is
// nobody's child.
func (r *Run) unit() string {
	switch {
	case r.Parent == "":
		return ""
	case r.WorkItem != "":
		return workLineage(r.Type, r.WorkItem)
	}
	return runLineage(r.ID)
}

// resolve returns the lineage that id is part of now.
func (p *pass) resolve(id string) string {
	const most = 16
	for range most {
		l := lineages.get(p.state, p.tenant, id)
		if l == nil || l.Into == "" {
			break
		}
		id = l.Into
	}
	return id
}

// lineageOf returns the id of a run's lineage.
func (p *pass) lineageOf(run *Run) string { return p.resolve(run.Lineage) }

// lineage returns the lineage of the event's run, to be changed.
func (f *fold) lineage() *Lineage {
	return lineages.edit(f.state, f.tenant, f.lineageOf(f.run()))
}

// place puts run into its lineage, or brings its lineage to where it turned out
// to belong.
func (f *fold) place(run *Run) {
	home := f.home(run)
	switch {
	case run.Lineage == "":
		run.Lineage = home
		f.renew(home, run)
	case f.resolve(run.Lineage) != home:
		f.join(f.resolve(run.Lineage), home)
	}
	l := f.lineage()
	if f.stamp.At.After(l.Seen) {
		l.Seen = f.stamp.At
	}
	if run.Parent == "" {
		l.lead(run)
	}
}

// lead makes run, which is nobody's child, the root. Until one is heard of, child
// runs stand for it.
func (l *Lineage) lead(run *Run) {
	if l.Root == "" {
		l.Started, l.Worked, l.Finished, l.Settled, l.Success = Stamp{}, Stamp{}, fact{}, Stamp{}, false
	}
	l.Root, l.Type = run.ID, run.Type
}

// leads reports whether the lineage is where run is.
func (l *Lineage) leads(run *Run) bool { return run.Parent == "" || l.Root == "" }

// home returns the lineage in which run belongs, as far as is known.
func (f *fold) home(run *Run) string {
	switch {
	case run.Parent != "":
		parent := runs.edit(f.state, f.tenant, run.Parent)
		if parent.Lineage == "" { // not heard of yet
			parent.ID, parent.Lineage = run.Parent, runLineage(run.Parent)
		}
		return f.resolve(parent.Lineage)
	case run.WorkItem != "":
		return f.resolve(workLineage(run.Type, run.WorkItem))
	case run.Lineage != "":
		return f.resolve(run.Lineage)
	}
	return runLineage(run.ID)
}

// join makes two lineages one. What was made for one of them stays; where there
// are issues of both, so do they.
func (f *fold) join(from, home string) {
	a, b := lineages.edit(f.state, f.tenant, from), lineages.edit(f.state, f.tenant, home)
	if a.follower() != "" && b.follower() == "" && b.Finished.isZero() && len(b.Roles) == 0 {
		a, b, home = b, a, from
	}
	if a.follower() != "" {
		return
	}
	a.Into = home
	for _, r := range a.Roles {
		into := b.role(r.Unit, r.Name)
		if into.Failed.before(r.Failed) {
			into.Failed, into.Step = r.Failed, r.Step
		}
		into.Done = into.Done.later(r.Done)
	}
	if !a.Finished.before(b.Finished.Stamp) && !a.Finished.isZero() {
		b.Finished, b.Success = a.Finished, a.Success
	}
	b.Started, b.Worked = b.Started.later(a.Started), b.Worked.later(a.Worked)
	b.Progress, b.Settled = b.Progress.later(a.Progress), b.Settled.later(a.Settled)
	b.Created += a.Created
	b.Followups = append(b.Followups, a.Followups...)
	a.Roles, a.Followups = nil, nil
}

// follower returns the issue that the lineage's events belong to: its own, the
// digest that lists it, or none.
func (l *Lineage) follower() string {
	if l.Issue != "" {
		return l.Issue
	}
	return l.Digest
}

// starts takes in that a run started.
func (l *Lineage) starts(run *Run, stamp Stamp) {
	if l.leads(run) {
		l.Started = l.Started.later(stamp)
	}
}

// ends takes in that a run ended. Only the ends of a root end the lineage; a
// child run is like a role.
func (l *Lineage) ends(run *Run, success bool, stamp Stamp) {
	if run.Parent != "" {
		r := l.role(run.unit(), childRun)
		if success {
			r.Done = r.Done.later(stamp)
		} else {
			r.Failed = r.Failed.later(stamp)
		}
	}
	if !l.leads(run) {
		return
	}
	if success {
		l.Settled = l.Settled.later(stamp)
	}
	if !stamp.before(l.Finished.Stamp) {
		l.Finished, l.Success = fact{stamp, run.ID}, success
	}
}

// ended reports whether no step of a root is later than the latest end.
func (l *Lineage) ended() bool {
	return !l.Finished.isZero() && !l.Finished.At.Before(l.Worked.At)
}

// status returns where the issue of the lineage stands, by the facts.
func (l *Lineage) status() Status {
	if _, failing := l.failing(); failing {
		return Blocked
	}
	return l.working()
}

// working returns the status where no failing step counts.
func (l *Lineage) working() Status {
	switch {
	case l.ended() && !l.Success:
		return Blocked
	case l.ended():
		return Closed
	case !l.Progress.isZero() || !l.Finished.isZero():
		return InProgress
	default:
		return Open
	}
}
