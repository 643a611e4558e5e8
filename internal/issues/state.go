package issues

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// State is all that the heuristics know, of all tenants, in memory. The zero
// State knows nothing and is ready to use. It is not safe for concurrent use.
type State struct {
	tenants map[string]Tenant
	runs    map[[2]string]Run
	steps   map[[3]string]Step
	issues  map[string]Issue
	ofRun   map[[2]string][]string // ids of a run's issues, sorted
	decided map[Decided]struct{}
}

// Decided names an event that was decided on: sources choose their ids alone.
type Decided struct {
	Tenant string `json:"tenant"`
	Source string `json:"source"`
	Event  string `json:"event"`
}

// Apply folds e into s and returns the decisions on it.
func (s *State) Apply(e events.Event, c Config) ([]Decision, error) {
	view, decisions, err := Fold(s.View(e), e, c)
	if err != nil {
		return nil, err
	}
	s.put(view)
	for _, d := range decisions {
		s.Decide(d)
	}
	return decisions, nil
}

// Decide puts into s that there is a decision.
func (s *State) Decide(d Decision) {
	s.put(View{})
	s.decided[Decided{d.Tenant, d.Source, d.Event}] = struct{}{}
}

// View returns the part of s that e can touch.
func (s *State) View(e events.Event) View {
	run := [2]string{e.Tenant, e.Run}
	_, decided := s.decided[Decided{e.Tenant, e.Source, e.ID}]
	v := View{
		Tenant: s.tenants[e.Tenant], Run: s.runs[run],
		Step: s.steps[[3]string{e.Tenant, e.Run, StepKey(e)}], Decided: decided,
	}
	for _, id := range s.ofRun[run] {
		v.Issues = append(v.Issues, s.issues[id])
	}
	return v
}

// Load puts into s what a view holds, as it was before: what is loaded of a
// larger state folds as the whole would.
func (s *State) Load(v View) { s.put(v) }

// Tenants returns what is kept per tenant, by id.
func (s *State) Tenants() []Tenant { return sorted(s.tenants, compareTenants) }

// Runs returns all runs by tenant and id.
func (s *State) Runs() []Run { return sorted(s.runs, compareRuns) }

// Steps returns all steps by tenant, run and id.
func (s *State) Steps() []Step { return sorted(s.steps, compareSteps) }

// Issues returns all issues by id.
func (s *State) Issues() []Issue {
	return sorted(s.issues, func(a, b Issue) int { return cmp.Compare(a.ID, b.ID) })
}

func (s *State) put(v View) {
	if s.tenants == nil {
		s.tenants, s.runs = make(map[string]Tenant), make(map[[2]string]Run)
		s.steps, s.issues = make(map[[3]string]Step), make(map[string]Issue)
		s.ofRun, s.decided = make(map[[2]string][]string), make(map[Decided]struct{})
	}
	if v.Tenant.Count > 0 || !v.Tenant.Clock.IsZero() {
		s.tenants[v.Tenant.ID] = v.Tenant
	}
	if v.Run.ID != "" {
		s.runs[[2]string{v.Run.Tenant, v.Run.ID}] = v.Run
	}
	if v.Step.ID != "" {
		s.steps[[3]string{v.Step.Tenant, v.Step.Run, v.Step.ID}] = v.Step
	}
	for _, issue := range v.Issues {
		s.putIssue(issue)
	}
}

func (s *State) putIssue(issue Issue) {
	if _, known := s.issues[issue.ID]; !known {
		run := [2]string{issue.Tenant, issue.Run}
		i, _ := slices.BinarySearch(s.ofRun[run], issue.ID)
		s.ofRun[run] = slices.Insert(s.ofRun[run], i, issue.ID)
	}
	s.issues[issue.ID] = issue
}

// encoded is the stored form of a State. Fields may be added, never renamed.
type encoded struct {
	Schema  int       `json:"schema"`
	Tenants []Tenant  `json:"tenants"`
	Runs    []Run     `json:"runs"`
	Steps   []Step    `json:"steps"`
	Issues  []Issue   `json:"issues"`
	Decided []Decided `json:"decided"`
}

const stateSchema = 1

// Encode returns the one encoding of s: equal states have equal bytes, however
// they came about.
func (s *State) Encode() ([]byte, error) {
	return json.Marshal(encoded{
		Schema:  stateSchema,
		Tenants: s.Tenants(),
		Runs:    s.Runs(),
		Steps:   s.Steps(),
		Issues:  s.Issues(),
		Decided: sortedKeys(s.decided),
	})
}

// Hash returns the hash of the encoding of s.
func (s *State) Hash() (events.Hash, error) {
	data, err := s.Encode()
	return events.HashOf(data), err
}

// DecodeState returns the state that [State.Encode] encoded. It refuses all
// other bytes.
func DecodeState(data []byte) (*State, error) {
	var e encoded
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("decode state: data behind its end")
	}
	if e.Schema != stateSchema {
		return nil, fmt.Errorf("decode state: schema %d, want %d", e.Schema, stateSchema)
	}
	s := new(State)
	s.put(View{})
	for _, t := range e.Tenants {
		s.tenants[t.ID] = t
	}
	for _, r := range e.Runs {
		s.runs[[2]string{r.Tenant, r.ID}] = r
	}
	for _, step := range e.Steps {
		s.steps[[3]string{step.Tenant, step.Run, step.ID}] = step
	}
	for _, issue := range e.Issues {
		s.putIssue(issue)
	}
	for _, d := range e.Decided {
		s.decided[d] = struct{}{}
	}
	again, err := s.Encode()
	if err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	if !bytes.Equal(again, data) {
		return nil, errors.New("decode state: not in its canonical form")
	}
	return s, nil
}

func compareTenants(a, b Tenant) int { return cmp.Compare(a.ID, b.ID) }

func compareRuns(a, b Run) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.ID, b.ID))
}

func compareSteps(a, b Step) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Run, b.Run), cmp.Compare(a.ID, b.ID))
}

func sorted[K comparable, V any](m map[K]V, compare func(a, b V) int) []V {
	out := make([]V, 0, len(m))
	for _, v := range m {
		out = append(out, v)
	}
	slices.SortFunc(out, compare)
	return out
}

func sortedKeys(m map[Decided]struct{}) []Decided {
	out := make([]Decided, 0, len(m))
	for d := range m {
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b Decided) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Event, b.Event))
	})
	return out
}
