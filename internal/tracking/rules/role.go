package rules

import (
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// A Role contains the latest failure and the latest success of one agent role or one child run.
type Role struct {
	Unit   string `json:"unit,omitempty"` // result of Run.unit. Empty for a root
	Name   string `json:"name,omitempty"`
	Failed Stamp  `json:"failed,omitzero"`
	Step   string `json:"step,omitempty"` // record of the failed step
	Done   Stamp  `json:"done,omitzero"`
}

const childRun = "run"

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
		if stamp.before(done) { // late report of a failure that has recovered
			r.Done = r.Done.later(stamp)
		}
		return
	}
	l.Progress = l.Progress.later(stamp)
	if status != events.StepCompleted {
		return
	}
	r.Done = r.Done.later(stamp)
	for i := range l.Roles {
		if other := &l.Roles[i]; other.Step == id && other.Failed.before(stamp) {
			other.Done = other.Done.later(other.Failed)
		}
	}
}

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
