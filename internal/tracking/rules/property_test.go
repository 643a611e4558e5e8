package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func drawHistory(t *rapid.T) []events.Event {
	n := rapid.IntRange(1, 40).Draw(t, "events")
	at := epoch
	list := make([]events.Event, 0, n)
	for i := range n {
		at = at.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "gap")) * time.Second)
		run := rapid.IntRange(0, 2).Draw(t, "run")
		e := events.Event{
			ID: fmt.Sprintf("e%03d", i), Source: "/engine", Time: at, Tenant: []string{"acme", "beta"}[run%2],
			Run: fmt.Sprintf("r%d", run), RunType: []string{"RESOLVE", "review", ""}[run],
		}
		e.Type, e.Step = drawPayload(t, &e)
		list = append(list, e)
	}
	return list
}

var summaries = []string{"", "ok", "TODO: a thing", "Next steps: one thing; two thing; three thing; four thing", "No follow-up needed"}

func drawPayload(t *rapid.T, e *events.Event) (typ, step string) {
	metadata := map[string]any{}
	if rapid.IntRange(0, 4).Draw(t, "declares") == 0 {
		metadata["complexity"] = rapid.IntRange(1, 4).Draw(t, "complexity")
	}
	if rapid.IntRange(0, 9).Draw(t, "partial") == 0 {
		metadata["partial_success"] = true
	}
	out := rapid.SampledFrom(summaries).Draw(t, "summary")
	var payload any
	kind := rapid.SampledFrom([]events.Kind{
		events.RunStarted, events.StepFinished, events.StepFinished, events.StepFinished, events.RunFinished,
		events.Error, events.RunSealed, events.ToolBefore, events.ClockTicked, events.IssueEdited,
	}).Draw(t, "kind")
	switch kind {
	case events.RunStarted:
		payload = events.RunStartedData{Metadata: metadata}
	case events.StepFinished:
		step = fmt.Sprintf("s%d", rapid.IntRange(0, 3).Draw(t, "step"))
		status := rapid.SampledFrom([]events.StepStatus{"completed", "completed", "failed", "skipped", "running", "pending"}).Draw(t, "status")
		role := rapid.SampledFrom([]string{"", "CODER", "PLANNER"}).Draw(t, "role")
		payload = events.StepFinishedData{AgentRole: role, StepStatus: status, OutputSummary: out, Metadata: metadata}
	case events.RunFinished:
		payload = events.RunFinishedData{Success: rapid.Bool().Draw(t, "success"), OutputSummary: out, Metadata: metadata}
	}
	if err := e.SetData(payload); err != nil {
		t.Fatal(err)
	}
	return kind.Type(), step
}

func encode(tb rapid.TB, s *rules.State) string {
	tb.Helper()
	var b strings.Builder
	for _, i := range s.Issues() {
		fmt.Fprintf(&b, "%+v\n", i)
	}
	return b.String()
}

func apply(tb rapid.TB, s *rules.State, list ...events.Event) []rules.Decision {
	tb.Helper()
	return applyWith(tb, rules.DefaultConfig(), s, list...)
}

func applyWith(tb rapid.TB, c rules.Config, s *rules.State, list ...events.Event) []rules.Decision {
	tb.Helper()
	var decisions []rules.Decision
	for _, e := range list {
		d, err := s.Apply(e, c)
		if err != nil {
			tb.Fatal(err)
		}
		decisions = append(decisions, d...)
	}
	return decisions
}

func release(tb rapid.TB, s *rules.State) []rules.Decision {
	tb.Helper()
	decisions, err := s.Release(rules.DefaultConfig())
	if err != nil {
		tb.Fatal(err)
	}
	return decisions
}

func TestProperty_RepeatsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawHistory(t)
		var once, twice rules.State
		want := apply(t, &once, list...)
		var got []rules.Decision
		for i, e := range list {
			got = append(got, apply(t, &twice, e, e, list[rapid.IntRange(0, i).Draw(t, "again")])...)
		}
		if diff := cmp.Diff(encode(t, &once), encode(t, &twice)); diff != "" {
			t.Errorf("state (-once +twice):\n%s", diff)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("decisions (-once +twice):\n%s", diff)
		}
	})
}

func TestProperty_RestartAfterEachEvent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawHistory(t)
		var straight rules.State
		want := apply(t, &straight, list...)
		store := make(memoryStore)
		var got []rules.Decision
		for _, e := range list {
			s := rules.NewState(store)
			got = append(got, apply(t, s, e)...)
			store.save(s.Changes())
		}
		straightStore := make(memoryStore)
		straightStore.save(straight.Changes())
		if diff := cmp.Diff(straightStore, store); diff != "" {
			t.Errorf("state (-straight +restarted):\n%s", diff)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("decisions (-straight +restarted):\n%s", diff)
		}
	})
}

// outline removes what may depend on names and times.
func outline(s *rules.State, shift time.Duration) []rules.Issue {
	list := s.Issues()
	for i := range list {
		issue := &list[i]
		issue.ID, issue.Tenant = "", ""
		for j := range issue.Links {
			issue.Links[j].ID = ""
		}
		issue.Created, issue.Updated = issue.Created.Add(-shift), issue.Updated.Add(-shift)
		issue.First, issue.Last = issue.First.Add(-shift), issue.Last.Add(-shift)
		if !issue.Closed.IsZero() {
			issue.Closed = issue.Closed.Add(-shift)
		}
	}
	slices.SortFunc(list, func(a, b rules.Issue) int {
		return slices.Compare([]string{a.Run, a.Title}, []string{b.Run, b.Title})
	})
	return list
}

func TestProperty_NamesAndTimesDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawHistory(t)
		shift := time.Duration(rapid.Int64Range(-1e9, 1e9).Draw(t, "shift")) * time.Second
		moved := slices.Clone(list)
		for i := range moved {
			moved[i].Time = moved[i].Time.Add(shift)
			moved[i].Tenant = "renamed " + moved[i].Tenant
		}
		var here, there rules.State
		apply(t, &here, list...)
		apply(t, &there, moved...)
		if diff := cmp.Diff(outline(&here, 0), outline(&there, shift)); diff != "" {
			t.Errorf("issues (-here +there):\n%s", diff)
		}
	})
}

func TestProperty_TenantsDoNotTouchEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawHistory(t)
		var together, alone rules.State
		apply(t, &together, list...)
		for _, tenant := range []string{"acme", "beta"} {
			for _, e := range list {
				if e.Tenant == tenant {
					apply(t, &alone, e)
				}
			}
		}
		if diff := cmp.Diff(encode(t, &alone), encode(t, &together)); diff != "" {
			t.Errorf("state (-alone +together):\n%s", diff)
		}
	})
}

// TestProperty_OrderOfDeliveryDoesNotDecide tests that the order of delivery does not change the
// final issues, if all times and steps differ.
func TestProperty_OrderOfDeliveryDoesNotDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawHistory(t)
		for i := range list {
			list[i].Time = epoch.Add(time.Duration(i) * time.Minute)
			list[i].RunType = "RESOLVE"
		}
		shuffled := rapid.Permutation(list).Draw(t, "order")
		c := rules.DefaultConfig()
		c.Flapping.Most = 1000 // the number of reopenings depends on the order
		var ordered, other rules.State
		applyWith(t, c, &ordered, list...)
		release(t, &ordered)
		applyWith(t, c, &other, shuffled...)
		release(t, &other)
		if diff := cmp.Diff(statuses(&ordered), statuses(&other)); diff != "" {
			t.Errorf("statuses (-ordered +shuffled):\n%s", diff)
		}
	})
}

func statuses(s *rules.State) map[string]rules.Status {
	m := make(map[string]rules.Status)
	for _, issue := range s.Issues() {
		if issue.Kind == rules.Tracking {
			m[issue.Tenant+"/"+issue.Run] = issue.Status
		}
	}
	return m
}

// TestProperty_EffectsMatchState rebuilds the issues from the effects alone.
func TestProperty_EffectsMatchState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s rules.State
		built := make(map[string]rules.Issue)
		decisions := apply(t, &s, drawHistory(t)...)
		for _, d := range append(decisions, release(t, &s)...) {
			for _, e := range d.Effects {
				if !slices.Contains(d.Issues, e.ID) {
					t.Errorf("decision on %s does not name issue %s", d.Event, e.ID)
				}
				built[e.ID] = follow(t, built[e.ID], e)
			}
		}
		for _, want := range s.Issues() {
			want = bare(want)
			if diff := cmp.Diff(want, built[want.ID]); diff != "" {
				t.Errorf("issue (-state +effects):\n%s", diff)
			}
		}
	})
}

func follow(t *rapid.T, issue rules.Issue, e rules.Effect) rules.Issue {
	if e.At.Before(issue.Updated) && e.Op == rules.OpTransition {
		t.Errorf("issue %s moves to %s at %s, after %s", e.ID, e.To, e.At, issue.Updated)
	}
	switch e.Op {
	case rules.OpCreate:
		if issue.ID != "" {
			t.Errorf("issue %s is made twice", e.ID)
		}
		issue = *e.Issue
		issue = bare(issue)
	case rules.OpTransition:
		issue.Status, issue.Reason, issue.Updated, issue.Closed = e.To, e.Reason, e.At, time.Time{}
		if e.To == rules.Closed {
			issue.Closed = e.At
		}
	case rules.OpLink:
		issue.Links = append(issue.Links, *e.Link)
	case rules.OpLabel:
		issue.Labels = append(issue.Labels, e.Label)
	case rules.OpDescribe:
		issue.Description = e.Text
	case rules.OpNote, rules.OpErase:
	}
	return issue
}

// TestProperty_GrowingSnapshots imports growing prefixes of a session, each with a run.finished.
// The issues must equal those of the last prefix alone.
func TestProperty_GrowingSnapshots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.IntRange(1, 12).Draw(t, "steps")
		var list []events.Event
		for i := range steps {
			e := events.Event{
				ID: fmt.Sprintf("s%d", i), Source: "claude-code", Type: events.StepFinished.Type(), Tenant: "acme", Run: "r1",
				Step: fmt.Sprintf("p%d", i), Time: epoch.Add(time.Duration(i) * time.Minute),
			}
			d := events.StepFinishedData{
				StepStatus: events.StepCompleted, OutputSummary: rapid.SampledFrom(summaries).Draw(t, "summary"),
				TokensUsed: &events.Tokens{Input: rapid.Int64Range(0, 60_000).Draw(t, "tokens")},
			}
			if err := e.SetData(d); err != nil {
				t.Fatal(err)
			}
			list = append(list, e)
		}
		snapshot := func(n int) []events.Event {
			end := events.Event{
				ID: fmt.Sprintf("end%d", n), Source: "claude-code", Type: events.RunFinished.Type(), Tenant: "acme", Run: "r1",
				Time: list[n-1].Time,
			}
			if err := end.SetData(events.RunFinishedData{Success: true, Steps: n}); err != nil {
				t.Fatal(err)
			}
			return append(slices.Clone(list[:n]), end)
		}
		var growing, last rules.State
		for n := 1; n < steps; n++ {
			if rapid.Bool().Draw(t, "imported") {
				apply(t, &growing, snapshot(n)...)
			}
		}
		apply(t, &growing, snapshot(steps)...)
		apply(t, &last, snapshot(steps)...)
		if diff := cmp.Diff(allBare(&last), allBare(&growing)); diff != "" {
			t.Errorf("issues (-last +growing):\n%s", diff)
		}
	})
}

func bare(issue rules.Issue) rules.Issue {
	issue.Count, issue.Runs, issue.First, issue.Last = 0, nil, time.Time{}, time.Time{}
	return issue
}

func allBare(s *rules.State) []rules.Issue {
	list := s.Issues()
	for i := range list {
		list[i] = bare(list[i])
	}
	return list
}
