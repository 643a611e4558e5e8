package rules_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var epoch = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// history builds events one second apart.
type history struct {
	tb     testing.TB
	tenant string
	run    string
	typ    string
	list   []events.Event
}

func newHistory(tb testing.TB, typ string) *history {
	tb.Helper()
	return &history{tb: tb, tenant: "acme", run: "r1", typ: typ}
}

func (h *history) add(kind events.Kind, step string, payload any) *history {
	h.tb.Helper()
	e := events.Event{
		ID: fmt.Sprintf("%s-%s-%03d", h.run, kind, len(h.list)), Source: "/engine", Type: kind.Type(),
		Time: epoch.Add(time.Duration(len(h.list)) * time.Second), Tenant: h.tenant, Run: h.run, Step: step, RunType: h.typ,
	}
	if err := e.SetData(payload); err != nil {
		h.tb.Fatal(err)
	}
	h.list = append(h.list, e)
	return h
}

func (h *history) start(metadata map[string]any) *history {
	h.tb.Helper()
	return h.add(events.RunStarted, "", events.RunStartedData{RunType: h.typ, Metadata: metadata})
}

func (h *history) step(name string, status events.StepStatus, out string, metadata map[string]any) *history {
	h.tb.Helper()
	d := events.StepFinishedData{
		RunType: h.typ, AgentRole: "CODER", StepStatus: status, OutputSummary: out, Metadata: metadata,
	}
	if status == events.StepFailed {
		d.Error = &events.Failure{Message: "boom"}
	}
	return h.add(events.StepFinished, name, d)
}

func (h *history) end(success bool, metadata map[string]any) *history {
	h.tb.Helper()
	return h.add(events.RunFinished, "", events.RunFinishedData{RunType: h.typ, Success: success, Metadata: metadata})
}

func complexity(n int) map[string]any { return map[string]any{"complexity": n} }

func fold(tb testing.TB, list []events.Event) (*rules.State, []rules.Decision) {
	tb.Helper()
	s, decisions := rulestest.Fold(tb, list)
	d, err := s.Release(rules.DefaultConfig())
	if err != nil {
		tb.Fatal(err)
	}
	return s, append(decisions, d...)
}

type summary struct {
	Kind   rules.Kind
	Title  string
	Status rules.Status
	Reason string
	Links  int
}

func summarise(s *rules.State) []summary {
	var out []summary
	for _, issue := range s.Issues() {
		out = append(out, summary{issue.Kind, issue.Title, issue.Status, issue.Reason, len(issue.Links)})
	}
	slices.SortFunc(out, func(a, b summary) int { return strings.Compare(string(a.Kind)+a.Title, string(b.Kind)+b.Title) })
	return out
}

func TestFold_Table(t *testing.T) {
	for _, row := range rows {
		for _, typ := range row.types {
			t.Run(row.name+"/"+typ, func(t *testing.T) {
				h := newHistory(t, typ)
				row.make(h)
				s, decisions := fold(t, h.list)
				want := row.want(typ)
				for i := range want { // no gap for the missing type
					want[i].Title = strings.ReplaceAll(want[i].Title, "  ", " ")
				}
				if diff := cmp.Diff(want, summarise(s)); diff != "" {
					t.Errorf("issues (-want +got):\n%s", diff)
				}
				checkDecisions(t, h.list, decisions)
			})
		}
	}
}

func checkDecisions(t *testing.T, list []events.Event, decisions []rules.Decision) {
	t.Helper()
	considered := slices.DeleteFunc(slices.Clone(list), func(e events.Event) bool { return !rules.Considered(e.Kind()) })
	if len(considered) != len(decisions) {
		t.Fatalf("got %d decisions on %d considered events", len(decisions), len(considered))
	}
	order := slices.SortedFunc(slices.Values(decisions), func(a, b rules.Decision) int { return a.Time.Compare(b.Time) })
	for i, d := range order {
		if d.Event != considered[i].ID || d.Rule == "" || d.Reason == "" || d.Action == "" || d.Config == "" {
			t.Errorf("decision %d is not complete: %+v", i, d)
		}
	}
}

func TestFold_SimpleCompletionSaysWhy(t *testing.T) {
	h := newHistory(t, "REVIEW").step("s1", events.StepCompleted, "ok", complexity(1)).end(true, nil)
	_, decisions := fold(t, h.list)
	got := decisions[len(decisions)-1]
	want := rules.Decision{
		Tenant: "acme", Source: "/engine", Event: h.list[1].ID, Kind: events.RunFinished, Run: "r1", Time: h.list[1].Time,
		Action: rules.None, Rule: "run completed > simple completion",
		Reason: "the run completed; no issue: complexity 1 is below 3, run type REVIEW is not tracked from its start, " +
			"nothing failed for good, nothing is left over",
		Counters: map[string]rules.Counter{"complexity": {1, 3}},
		Flip:     "run type AUTOPILOT or RESOLVE, a step of complexity 3 or more, a failed step, partial success or deferred work",
		Config:   rules.DefaultConfig().Hash(),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
}

func TestFold_HooksAttributeWithoutBeads(t *testing.T) {
	for hooks, want := range map[string]int{"": 1, "agentfs": 0, "agentfs,beads": 1, "beads": 1, "none": 0} {
		h := newHistory(t, "RESOLVE").start(nil)
		h.list[0].Hooks = hooks
		s, decisions := fold(t, h.list)
		if got := len(s.Issues()); got != want {
			t.Errorf("hooks %q: got %d issues, want %d", hooks, got, want)
		}
		checkDecisions(t, h.list, decisions)
		if want == 0 && decisions[0].Reason != "not considered: the hooks attribute does not name beads" {
			t.Errorf("hooks %q: reason is %q", hooks, decisions[0].Reason)
		}
	}
}

func TestFold_NeverConsidersItsOwnDecisions(t *testing.T) {
	h := newHistory(t, "RESOLVE").add(events.IssueDecided, "", events.IssueDecidedData{Event: "x"})
	s, decisions := fold(t, h.list)
	if c := s.Changes(); len(decisions) != 0 || len(c.Records) != 0 {
		t.Errorf("an issue.decided changed the state: %v", c)
	}
}

func TestFold_OtherEventsOnlyMoveTheClock(t *testing.T) {
	h := newHistory(t, "RESOLVE").add(events.ToolBefore, "", events.ToolBeforeData{Tool: "Bash"})
	s, decisions := fold(t, h.list)
	want := []string{
		`tenant: {"clock":"2026-03-01T09:00:00Z","count":0}`,
		`tenants: {"tenants":["acme"]}`,
	}
	var got []string
	for _, r := range s.Changes().Records {
		got = append(got, r.Kind+": "+string(r.JSON))
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || decisions != nil {
		t.Errorf("records (-want +got):\n%s\ndecisions: %v", diff, decisions)
	}
}

func TestFold_BadPayloadSaysNothing(t *testing.T) {
	h := newHistory(t, "RESOLVE").start(nil)
	for _, data := range []string{`[]`, `{"metadata":7}`, `"x"`, `{`} {
		h.list[0].Data = []byte(data)
		s := rules.NewState(nil)
		if _, err := s.Apply(h.list[0], rules.DefaultConfig()); err == nil {
			t.Errorf("data %s: got no error", data)
		}
		if c := s.Changes(); len(c.Records)+len(c.Set)+len(c.Cleared) > 0 {
			t.Errorf("data %s: the state changed: %v", data, c)
		}
	}
}

func TestFold_ComputedComplexity(t *testing.T) {
	signs := rules.DefaultConfig().Signs
	for _, test := range []struct {
		name string
		run  rules.Run
		want int
	}{
		{"Nothing", rules.Run{}, 1},
		{"Declared", rules.Run{Declared: 2, Steps: 100, Files: 100, Tokens: 1e9}, 2},
		{"Steps", rules.Run{Steps: 8}, 2},
		{"StepsAndTokens", rules.Run{Steps: 8, Tokens: 200_000}, 3},
		{"All", rules.Run{
			Steps: 9, Tokens: 1e6, Retries: 2, Files: 8,
			Roles: []string{"A", "B", "C", "D"},
		}, 6},
		{"TooFewRoles", rules.Run{Roles: []string{"A", "B", "C"}}, 1},
	} {
		if got := test.run.Complexity(signs); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}

func TestFold_LatestReportOfAStepCounts(t *testing.T) {
	h := newHistory(t, "PLAN")
	for range 3 {
		h.add(events.StepFinished, "s1", events.StepFinishedData{
			StepStatus: events.StepCompleted, TokensUsed: &events.Tokens{Input: 60_000, Output: 30_000},
			Metadata: map[string]any{"files": []any{"a", "b", "c", "d", "e"}},
		})
	}
	s, _ := fold(t, h.list)
	store := make(memoryStore)
	store.save(s.Changes())
	var run rules.Run
	if err := json.Unmarshal([]byte(store[rules.Key{Tenant: "acme", Kind: "run", ID: "r1"}]), &run); err != nil {
		t.Fatal(err)
	}
	if run.Steps != 1 || run.Tokens != 90_000 || run.Files != 5 {
		t.Errorf("got %d steps, %d tokens, %d files; want 1, 90000, 5", run.Steps, run.Tokens, run.Files)
	}
}

func TestID_FixedLengthAndDistinct(t *testing.T) {
	seen := make(map[string]bool)
	for i := range 1000 {
		id := rules.ID("acme", "run", fmt.Sprint(i))
		if len(id) != len("ht-")+13 || seen[id] {
			t.Fatalf("id %q: wrong length or not the only one", id)
		}
		seen[id] = true
	}
	if rules.ID("a", "bc") == rules.ID("ab", "c") {
		t.Error("texts run together")
	}
}

func TestFold_RolesOfAnyLengthFitIntoATitle(t *testing.T) {
	h := newHistory(t, "TRIAGE").start(nil).add(events.StepFinished, "s1", events.StepFinishedData{
		AgentRole: "coder\nht-1  closed " + strings.Repeat("x", 600), StepStatus: events.StepFailed,
	})
	s, decisions := fold(t, h.list)
	texts := []string{decisions[1].Reason}
	for _, issue := range s.Issues() {
		texts = append(texts, issue.Title, issue.Reason)
	}
	if len(texts) != 3 {
		t.Fatalf("got %d texts, want those of one issue", len(texts))
	}
	for _, text := range texts {
		if strings.Contains(text, "\n") || utf8.RuneCountInString(text) > 500 {
			t.Errorf("got %d characters: %q", utf8.RuneCountInString(text), text)
		}
	}
}
