package rules

import (
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Role has the latest results of the steps of one agent role, or of a child run.
type Role struct {
	Unit   string `json:"unit,omitempty"` // child run or its work item; empty for a root
	Name   string `json:"name,omitempty"`
	Failed Stamp  `json:"failed,omitzero"` // latest failure
	Step   string `json:"step,omitempty"`  // record id of the failed step
	Done   Stamp  `json:"done,omitzero"`   // latest completion
}

// childRun is the role name for a child run as a whole.
const childRun = "run"

// role returns a role for changing, and adds it if it is new. If there are too many roles, it
// removes the one with the oldest completion, if possible one that is not failing.
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

// advance notes the result of a step of role. The step was completed last at done.
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
		if stamp.before(done) { // late report of a recovered failure
			r.Done = r.Done.later(stamp)
		}
		return
	}
	l.Progress = l.Progress.later(stamp)
	if status != events.StepCompleted {
		return
	}
	r.Done = r.Done.later(stamp)
	// Another role may complete the step. That recovers the failure of this step, but no other
	// failure of the role that failed.
	for i := range l.Roles {
		if other := &l.Roles[i]; other.Step == id && other.Failed.before(stamp) {
			other.Done = other.Done.later(other.Failed)
		}
	}
}

// failing returns a role whose latest failure is not recovered. A later completion of the role
// recovers it, and so does a successful end of its child run or of a root, even at the same
// time.
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
