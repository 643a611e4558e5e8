package issues

import (
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// The kinds of records.
var (
	tenants = table[Tenant]{kind: "tenant"}
	runs    = table[Run]{kind: "run"}
	steps   = table[Step]{kind: "step"}
	all     = table[Issue]{kind: IssueKind}
	ofRuns  = table[[]string]{kind: "issues of run"}
	marks   = table[mark]{kind: "event"}
)

// mark is what is kept of an event that was decided on.
type mark struct {
	Issues []string `json:"issues,omitempty"`
}

// Apply folds e into s and returns the decisions that it brings: the one on e,
// if e is considered and was not decided on before, unless e is held; and those
// on what was held until e moved the clock. It fails if the store does, or if the
// data of e is not of its kind: then nothing changed.
func (s *State) Apply(e events.Event, c Config) (decisions []Decision, err error) {
	err = s.atomically(func() error {
		view := s.view(e)
		view, decisions, err = Fold(view, e, c)
		if err != nil {
			return err
		}
		s.put(view, e)
		for _, d := range decisions {
			marks.edit(s, e.Tenant, markID(e)).Issues = d.Issues
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return decisions, nil
}

// Release ends what is held, as the passing of time would, and does nothing
// else: there will be no more events.
func (s *State) Release(Config) ([]Decision, error) { return nil, nil }

func markID(e events.Event) string { return e.ID + "\n" + e.Source }

func (s *State) view(e events.Event) View {
	v := View{Decided: marks.get(s, e.Tenant, markID(e)) != nil}
	if t := tenants.get(s, e.Tenant, ""); t != nil {
		v.Tenant = *t
	}
	if r := runs.get(s, e.Tenant, e.Run); r != nil {
		v.Run = *r
	}
	if key := StepKey(e); key != "" {
		if step := steps.get(s, e.Tenant, e.Run+"\n"+key); step != nil {
			v.Step = *step
		}
	}
	if ids := ofRuns.get(s, e.Tenant, e.Run); ids != nil {
		for _, id := range *ids {
			v.Issues = append(v.Issues, *all.get(s, e.Tenant, id))
		}
	}
	return v
}

func (s *State) put(v View, e events.Event) {
	if v.Tenant.ID != "" {
		*tenants.edit(s, e.Tenant, "") = v.Tenant
	}
	if v.Run.ID != "" {
		*runs.edit(s, e.Tenant, e.Run) = v.Run
	}
	if v.Step.ID != "" {
		*steps.edit(s, e.Tenant, e.Run+"\n"+v.Step.ID) = v.Step
	}
	for _, issue := range v.Issues {
		*all.edit(s, e.Tenant, issue.ID) = issue
		ids := ofRuns.get(s, e.Tenant, e.Run)
		if ids != nil && slices.Contains(*ids, issue.ID) {
			continue
		}
		list := ofRuns.edit(s, e.Tenant, e.Run)
		*list = append(slices.Clone(*list), issue.ID)
		slices.Sort(*list)
	}
}
