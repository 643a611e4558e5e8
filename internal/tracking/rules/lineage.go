package rules

import (
	"cmp"
	"slices"
	"time"
)

// A Lineage groups the runs that work on the same thing and share one tracking issue. These are a
// run, its child runs, and later runs of the same work item.
type Lineage struct {
	Into       string    `json:"into,omitempty"` // lineage that this one was merged into
	Type       string    `json:"type,omitempty"` // of Root
	Root       string    `json:"root,omitempty"` // latest run without a parent
	Generation int       `json:"generation,omitempty"`
	Before     string    `json:"before,omitempty"` // issue of the previous generation
	Issue      string    `json:"issue,omitempty"`
	Digest     string    `json:"digest,omitempty"` // digest listing the lineage if Issue is empty
	Entry      int       `json:"entry,omitempty"`  // number in Digest
	Followups  []string  `json:"followups,omitempty"`
	Created    int       `json:"created,omitempty"` // issues caused by the lineage since its latest progress
	Roles      []Role    `json:"roles,omitempty"`
	Started    Stamp     `json:"started,omitzero"`  // latest start of a root
	Worked     Stamp     `json:"worked,omitzero"`   // latest step of a root
	Progress   Stamp     `json:"progress,omitzero"` // latest step that did not fail
	Finished   fact      `json:"finished,omitzero"` // latest end of a root
	Success    bool      `json:"success,omitempty"` // of Finished
	Settled    Stamp     `json:"settled,omitzero"`  // latest successful end of a root
	Seen       time.Time `json:"seen,omitzero"`     // latest event
	Watched    bool      `json:"watched,omitempty"` // a timer is set that checks for events
	Silent     bool      `json:"silent,omitempty"`  // the label stalled must be added
}

var lineages = table[Lineage]{"lineage", func(l *Lineage) {
	l.Roles, l.Followups = slices.Clone(l.Roles), slices.Clone(l.Followups)
}}

func runLineage(run string) string { return "run/" + run }

func workLineage(runType, item string) string { return "work/" + runType + "/" + item }

func (r *Run) unit() string {
	switch {
	case r.Parent == "":
		return ""
	case r.WorkItem != "":
		return workLineage(r.Type, r.WorkItem)
	}
	return runLineage(r.ID)
}

func (r records) resolve(id string) string {
	const most = 16
	for range most {
		l := lineages.get(r, id)
		if l == nil || l.Into == "" {
			break
		}
		id = l.Into
	}
	return id
}

func (r records) lineageOf(run *Run) string { return r.resolve(run.Lineage) }

func (l *Lineage) lead(run *Run) {
	if l.Root == "" {
		l.Started, l.Worked, l.Finished, l.Settled, l.Success = Stamp{}, Stamp{}, fact{}, Stamp{}, false
	}
	l.Root, l.Type = run.ID, run.Type
}

func (l *Lineage) leads(run *Run) bool { return run.Parent == "" || l.Root == "" }

func (r records) merge(source, target string) {
	a, b := lineages.edit(r, source), lineages.edit(r, target)
	if a.follower() != "" && b.follower() == "" && b.Finished.isZero() && len(b.Roles) == 0 {
		a, b, target = b, a, source
	}
	if a.follower() != "" {
		return
	}
	a.Into = target
	for _, role := range a.Roles {
		into := b.role(role.Unit, role.Name)
		if into.Failed.before(role.Failed) {
			into.Failed, into.Step = role.Failed, role.Step
		}
		into.Done = into.Done.later(role.Done)
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

func (l *Lineage) follower() string { return cmp.Or(l.Issue, l.Digest) }

func (l *Lineage) starts(run *Run, stamp Stamp) {
	if l.leads(run) {
		l.Started = l.Started.later(stamp)
	}
}

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

func (l *Lineage) ended() bool {
	return !l.Finished.isZero() && !l.Finished.At.Before(l.Worked.At)
}

func (l *Lineage) status() Status {
	if _, failing := l.failing(); failing {
		return Blocked
	}
	return l.working()
}

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

func (l *Lineage) title(c *Config, run *Run) string {
	if l.Root == "" {
		return runTitle(c, run.Type, run.ID)
	}
	return runTitle(c, l.Type, l.Root)
}
