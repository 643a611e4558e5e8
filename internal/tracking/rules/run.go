package rules

import (
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// A Stamp is the time of an event and its number in the order of arrival. Stamps are ordered by
// time first.
type Stamp struct {
	At time.Time `json:"at,omitzero"`
	N  uint64    `json:"n,omitempty"` // number in the order of arrival, or 0 without an event
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

func (s Stamp) later(t Stamp) Stamp {
	if s.before(t) {
		return t
	}
	return s
}

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

// Run contains the recorded facts about a run of an agent.
type Run struct {
	ID         string    `json:"id"`
	Type       string    `json:"type,omitempty"`
	Parent     string    `json:"parent,omitempty"`
	WorkItem   string    `json:"work_item,omitempty"`
	Target     string    `json:"target,omitempty"`
	Lineage    string    `json:"lineage"`
	Generation int       `json:"generation,omitempty"` // generation of the lineage
	First      time.Time `json:"first,omitzero"`       // earliest event
	Declared   int       `json:"declared,omitempty"`   // highest declared complexity
	Steps      int       `json:"steps,omitempty"`
	Retries    int       `json:"retries,omitempty"` // steps that ran again after a failure
	Files      int       `json:"files,omitempty"`
	Tokens     int64     `json:"tokens,omitempty"`
	Roles      []string  `json:"roles,omitempty"` // in the order of arrival
	Begun      bool      `json:"begun,omitempty"`
	Started    Stamp     `json:"started,omitzero"` // latest run.started
	Ended      Stamp     `json:"ended,omitzero"`   // earliest run.finished
	Finished   Stamp     `json:"finished,omitzero"`
	Success    bool      `json:"success,omitempty"` // of Finished
	Settled    Stamp     `json:"settled,omitzero"`  // latest successful end
	Failing    []Failing `json:"failing,omitempty"` // failed steps while the run has no tracking issue
	Whole      Failing   `json:"whole,omitzero"`    // failed end that is not part of a step's failure
	Scope      string    `json:"scope,omitempty"`   // scope of the failed end
	Deferred   int       `json:"deferred,omitempty"`
	Remaining  int       `json:"remaining,omitempty"`
	Bundle     string    `json:"bundle,omitempty"`  // collective follow-up for the items beyond the limits
	Bundled    []string  `json:"bundled,omitempty"` // keys of the items in Bundle, sorted
	Left       []string  `json:"left,omitempty"`    // ids of the follow-ups from the latest end
}

var runs = table[Run]{"run", func(r *Run) {
	r.Roles, r.Failing = slices.Clone(r.Roles), slices.Clone(r.Failing)
	r.Bundled, r.Left = slices.Clone(r.Bundled), slices.Clone(r.Left)
}}

// A Failing identifies a failure in a run that has no tracking issue.
type Failing struct {
	Failure string `json:"failure"`
	Scope   string `json:"scope"`
	Step    string `json:"step"`
	At      Stamp  `json:"at"`
}

// Step contains the data of the latest step.finished event of one step.
type Step struct {
	At     Stamp    `json:"at,omitzero"`
	Done   Stamp    `json:"done,omitzero"` // latest completion
	Failed bool     `json:"failed,omitempty"`
	Tokens int64    `json:"tokens,omitempty"`
	Files  int      `json:"files,omitempty"`
	Left   []string `json:"left,omitempty"` // ids of the follow-ups from the report
}

var steps = table[Step]{"step", func(s *Step) { s.Left = slices.Clone(s.Left) }}

// StepKey returns a key for the step that ended with a step.finished event. The key is derived from
// the step id, or from the event id if there is no step id. For other events, StepKey returns "".
func StepKey(e events.Event) string {
	if e.Kind() != events.StepFinished {
		return ""
	}
	if e.Step == "" {
		return "event:" + e.ID
	}
	return e.Step
}

func stepID(run, step string) string { return run + "\n" + step }

const maxRoles = 32

// Complexity returns the highest complexity that the events of the run state. If they state none,
// it is 1 plus the number of counts, such as steps and retries, that reach their threshold in
// signs.
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

func (r *Run) acts(role string) {
	if role != "" && len(r.Roles) < maxRoles && !slices.Contains(r.Roles, role) {
		r.Roles = append(r.Roles, role)
	}
}

func (r *Run) fails(s Failing) {
	i := slices.IndexFunc(r.Failing, func(old Failing) bool { return old.Step == s.Step && old.Failure == s.Failure })
	switch {
	case i >= 0:
		r.Failing[i].At = r.Failing[i].At.later(s.At)
	case len(r.Failing) < maxFailing:
		r.Failing = append(r.Failing, s)
	}
}

func (r *Run) typeReason() string {
	if r.Type == "" {
		return "the run has no type"
	}
	return "run type " + clean(r.Type, 40) + " is not tracked from its start"
}
