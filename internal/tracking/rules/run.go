package rules

import (
	"slices"
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

// fact is a stamp of something that a run did.
type fact struct {
	Stamp
	Run string `json:"run,omitempty"`
}

func (a fact) latest(b fact) fact {
	if a.before(b.Stamp) {
		return b
	}
	return a
}

// Run is what is known of a run.
type Run struct {
	ID         string    `json:"id"`
	Type       string    `json:"type,omitempty"`
	Parent     string    `json:"parent,omitempty"`
	WorkItem   string    `json:"work_item,omitempty"`
	Target     string    `json:"target,omitempty"`
	Lineage    string    `json:"lineage"`
	Generation int       `json:"generation,omitempty"` // of the lineage
	First      time.Time `json:"first,omitzero"`       // earliest event time
	Declared   int       `json:"declared,omitempty"`   // highest complexity that was declared
	Steps      int       `json:"steps,omitempty"`
	Retries    int       `json:"retries,omitempty"` // steps that were run again after they failed
	Files      int       `json:"files,omitempty"`
	Tokens     int64     `json:"tokens,omitempty"`
	Roles      []string  `json:"roles,omitempty"`  // in the order in which they came
	Begun      bool      `json:"begun,omitempty"`  // its run.started came
	Started    Stamp     `json:"started,omitzero"` // the latest run.started
	Ended      Stamp     `json:"ended,omitzero"`   // the earliest run.finished
	Finished   Stamp     `json:"finished,omitzero"`
	Success    bool      `json:"success,omitempty"` // of the latest run.finished
	Settled    Stamp     `json:"settled,omitzero"`  // the latest successful end
	Failing    []Failing `json:"failing,omitempty"` // steps that failed while no issue followed the run
	Whole      Failing   `json:"whole,omitzero"`    // its end, if that has a failure of its own
	Scope      string    `json:"scope,omitempty"`   // where its end failed, alone or with its steps
	Deferred   int       `json:"deferred,omitempty"`
	Remaining  int       `json:"remaining,omitempty"`
	Bundle     string    `json:"bundle,omitempty"`  // the follow-up for what is beyond the limits
	Bundled    []string  `json:"bundled,omitempty"` // keys of items in the bundle, sorted
	Left       []string  `json:"left,omitempty"`    // follow-ups that the latest end left over
}

var runs = table[Run]{"run", func(r *Run) {
	r.Roles, r.Failing = slices.Clone(r.Roles), slices.Clone(r.Failing)
	r.Bundled, r.Left = slices.Clone(r.Bundled), slices.Clone(r.Left)
}}

// Step is what is known of a step: its latest step.finished.
type Step struct {
	At     Stamp    `json:"at,omitzero"`
	Done   Stamp    `json:"done,omitzero"` // the latest completion
	Failed bool     `json:"failed,omitempty"`
	Tokens int64    `json:"tokens,omitempty"`
	Files  int      `json:"files,omitempty"`
	Left   []string `json:"left,omitempty"` // follow-ups that it left over
}

var steps = table[Step]{"step", func(s *Step) { s.Left = slices.Clone(s.Left) }}

// stepID returns the id of the record of a step.
func stepID(run, step string) string { return run + "\n" + step }

// maxRoles bounds the roles that are told apart; their names are free text.
const maxRoles = 32

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
		len(r.Roles) >= signs.Roles,
		r.Tokens >= signs.Tokens,
	} {
		if reached {
			n++
		}
	}
	return n
}

// acts notes that a step of role belongs to the run.
func (r *Run) acts(role string) {
	if role != "" && len(r.Roles) < maxRoles && !slices.Contains(r.Roles, role) {
		r.Roles = append(r.Roles, role)
	}
}
