package rules

import (
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Role is how the steps of one agent role went, or the ends of a child run.
type Role struct {
	Unit   string `json:"unit,omitempty"` // the child run or its work item; none of a root
	Name   string `json:"name,omitempty"`
	Failed Stamp  `json:"failed,omitzero"` // the latest failure
	Step   string `json:"step,omitempty"`  // the record of the step that failed
	Done   Stamp  `json:"done,omitzero"`   // the latest completion
}

// childRun stands for the role of a child run as a whole.
const childRun = "run"

// role returns where the role called name of a unit is kept. Where there are too
// many, the one that recovered longest ago makes room.
func (l *Lineage) role(unit, name string) *Role {
	i := slices.IndexFunc(l.Roles, func(r Role) bool { return r.Unit == unit && r.Name == name })
	if i < 0 && len(l.Roles) >= maxRoles {
		l.forgetRole()
	}
	if i < 0 {
		i = len(l.Roles)
		l.Roles = append(l.Roles, Role{Unit: unit, Name: name})
	}
	return &l.Roles[i]
}

func (l *Lineage) forgetRole() {
	oldest := 0
	for i, r := range l.Roles {
		o := l.Roles[oldest]
		if r.failing() != o.failing() {
			if o.failing() {
				oldest = i
			}
			continue
		}
		if r.Done.before(o.Done) {
			oldest = i
		}
	}
	l.Roles = slices.Delete(l.Roles, oldest, oldest+1)
}

func (r Role) failing() bool { return r.Done.before(r.Failed) }

// advance takes in how a step of role ended; done is when the step was completed
// last.
func (l *Lineage) advance(run *Run, role, step string, status events.StepStatus, stamp, done Stamp) {
	if status == events.StepPending {
		return
	}
	if l.leads(run) {
		l.Worked = l.Worked.later(stamp)
	}
	id := stepID(run.ID, step)
	r := l.role(run.unit(), role)
	if status == events.StepFailed {
		if r.Failed.before(stamp) {
			r.Failed, r.Step = stamp, id
		}
		if stamp.before(done) { // late: it was made good
			r.Done = r.Done.later(stamp)
		}
		return
	}
	l.Progress = l.Progress.later(stamp)
	if status != events.StepCompleted {
		return
	}
	r.Done = r.Done.later(stamp)
	// Another role may complete the step: that makes good its failure, not
	// others of the role that failed.
	for i := range l.Roles {
		if other := &l.Roles[i]; other.Step == id && other.Failed.before(stamp) {
			other.Done = other.Done.later(other.Failed)
		}
	}
}

// failing returns a role whose latest failure nothing has made good: neither a
// later completion of that role, nor a successful end of its child run, nor one
// of a root. Of one time, the end is the later fact, in whichever order they came.
func (l *Lineage) failing() (Role, bool) {
	for _, r := range l.Roles {
		if !r.failing() || !l.Settled.isZero() && !l.Settled.At.Before(r.Failed.At) {
			continue
		}
		if r.Unit != "" && r.Name != childRun && !l.childSettled(r) {
			return r, true
		}
		if r.Unit == "" || r.Name == childRun {
			return r, true
		}
	}
	return Role{}, false
}

func (l *Lineage) childSettled(r Role) bool {
	i := slices.IndexFunc(l.Roles, func(child Role) bool { return child.Unit == r.Unit && child.Name == childRun })
	return i >= 0 && !l.Roles[i].Done.isZero() && !l.Roles[i].Done.At.Before(r.Failed.At)
}
