package issues

import (
	"slices"
	"strings"
	"time"
)

// Stamp orders facts: by the time of their event, and facts of one time in the
// order in which they came.
type Stamp struct {
	At time.Time `json:"at,omitzero"`
	N  uint64    `json:"n,omitempty"` // how many considered events the tenant had; 0 is never
}

func (s Stamp) isZero() bool { return s.N == 0 }

func (s Stamp) before(t Stamp) bool {
	if s.isZero() || t.isZero() {
		return s.isZero() && !t.isZero()
	}
	if c := s.At.Compare(t.At); c != 0 {
		return c < 0
	}
	return s.N < t.N
}

// later returns the later of s and t; the zero stamp is before all others.
func (s Stamp) later(t Stamp) Stamp {
	if s.before(t) {
		return t
	}
	return s
}

// Tenant is what is kept per tenant.
type Tenant struct {
	ID    string    `json:"id"`
	Clock time.Time `json:"clock,omitzero"` // the latest event time
	Count uint64    `json:"count"`          // considered events
}

// Run is what is known of a run.
type Run struct {
	Tenant   string    `json:"tenant"`
	ID       string    `json:"id"`
	Type     string    `json:"type,omitempty"`
	First    time.Time `json:"first,omitzero"`     // earliest event time
	Declared int       `json:"declared,omitempty"` // highest complexity that was declared
	Steps    int       `json:"steps,omitempty"`
	Retries  int       `json:"retries,omitempty"` // steps that were run again after they failed
	Files    int       `json:"files,omitempty"`
	Tokens   int64     `json:"tokens,omitempty"`
	Roles    []Role    `json:"roles,omitempty"` // by name
	Active   Stamp     `json:"active,omitzero"` // the latest start or step
	Progress Stamp     `json:"progress,omitzero"`
	Finished Stamp     `json:"finished,omitzero"`
	Success  bool      `json:"success,omitempty"` // of the latest run.finished
	Settled  Stamp     `json:"settled,omitzero"`  // the latest successful end
	Issue    string    `json:"issue,omitempty"`   // the run's own
	Deferred int       `json:"deferred,omitempty"`
	Left     int       `json:"left,omitempty"`    // follow-ups for remaining items
	Bundled  []string  `json:"bundled,omitempty"` // ids of items in the bundle, sorted
}

// Role is how the steps of one agent role went.
type Role struct {
	Name   string `json:"name"`
	Failed Stamp  `json:"failed,omitzero"` // the latest failure
	Step   string `json:"step,omitempty"`  // the step that failed
	Done   Stamp  `json:"done,omitzero"`   // the latest completion
}

// Step is what is known of a step: its latest step.finished.
type Step struct {
	Tenant string `json:"tenant"`
	Run    string `json:"run"`
	ID     string `json:"id"`
	At     Stamp  `json:"at,omitzero"`
	Done   Stamp  `json:"done,omitzero"` // the latest completion
	Failed bool   `json:"failed,omitempty"`
	Tokens int64  `json:"tokens,omitempty"`
	Files  int    `json:"files,omitempty"`
}

// maxRoles bounds the roles that a run keeps apart; role names are free text.
const maxRoles = 32

// role returns where the steps of the role called name are kept. Beyond
// maxRoles, all further roles share one place.
func (r *Run) role(name string) *Role {
	byName := func(role Role, name string) int { return strings.Compare(role.Name, name) }
	i, found := slices.BinarySearchFunc(r.Roles, name, byName)
	if !found && len(r.Roles) >= maxRoles {
		i, found = slices.BinarySearchFunc(r.Roles, "", byName)
		name = ""
	}
	if !found {
		r.Roles = slices.Insert(r.Roles, i, Role{Name: name})
	}
	return &r.Roles[i]
}

// failing returns the name of a role whose latest failure nothing has made
// good: neither a later completed step of that role nor a successful end.
func (r *Run) failing() (Role, bool) {
	for _, role := range r.Roles {
		if role.Done.before(role.Failed) && r.Settled.before(role.Failed) {
			return role, true
		}
	}
	return Role{}, false
}

// ended reports whether nothing of the run is later than its end. Of one time,
// the end is the later fact, in whichever order they came.
func (r *Run) ended() bool {
	return !r.Finished.isZero() && !r.Finished.At.Before(r.Active.At)
}

// status returns where the run's own issue stands.
func (r *Run) status() Status {
	_, failing := r.failing()
	switch {
	case r.ended() && r.Success:
		return Closed
	case r.ended() || failing:
		return Blocked
	case !r.Progress.isZero() || !r.Finished.isZero():
		return InProgress
	default:
		return Open
	}
}

// Complexity returns the highest complexity that was declared for the run or
// one of its steps. If none was, it is computed: one, and one more for each of
// steps, retries, files, roles and tokens that reaches its value in signs.
// Tokens are those read and written, without what came from a cache.
func (r *Run) Complexity(signs Signs) int {
	if r.Declared > 0 {
		return r.Declared
	}
	n := 1
	for _, reached := range []bool{
		r.Steps >= signs.Steps,
		r.Retries >= signs.Retries,
		r.Files >= signs.Files,
		r.namedRoles() >= signs.Roles,
		r.Tokens >= signs.Tokens,
	} {
		if reached {
			n++
		}
	}
	return n
}

func (r *Run) namedRoles() int {
	n := len(r.Roles)
	if n > 0 && r.Roles[0].Name == "" {
		n--
	}
	return n
}
