package ledger_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// say publishes an event of a run whose time differs from the order of the stream.
func say(f *ledgertest.Feed, run string, at time.Time, kind events.Kind, agent string, payload any) {
	e, err := events.New(kind, "/"+agent, payload)
	if err != nil {
		panic(err)
	}
	e.ID = events.DeriveID(run, fmt.Sprint(len(f.Messages)))
	e.Run, e.Subject, e.Agent = run, run, agent
	if kind == events.ToolBefore {
		e.ToolCall = e.ID
	}
	f.Now = at
	f.Publish("p", e)
}

// shuffledRuns is a feed of many runs whose events arrive in any order.
func shuffledRuns(seed uint64) *ledgertest.Feed {
	f, random := ledgertest.NewFeed("acme"), rand.New(rand.NewPCG(seed, 1))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	for i := range 12 {
		say(f, fmt.Sprintf("timeless-%d", i), ledgertest.Began.Add(time.Duration(i)*400*time.Second), events.Custom, "codex",
			events.CustomData{Name: "no time", Common: events.Common{Untimed: true}})
	}
	for range 400 {
		run, agent := fmt.Sprintf("r%02d", random.IntN(80)), pick("codex", "claude-code", "")
		at := ledgertest.Began.Add(time.Duration(random.IntN(5000)) * time.Second)
		switch random.IntN(9) {
		case 0:
			say(f, run, at, events.RunStarted, agent, events.RunStartedData{Title: pick("", "Über"), Cwd: pick("/src/a", "/src/b")})
		case 1:
			say(f, run, at, events.PromptSubmit, agent, events.PromptSubmitData{Prompt: pick("fix it", "explain\nit")})
		case 2, 3:
			say(f, run, at, events.ToolBefore, agent, events.ToolBeforeData{Tool: pick("Bash", "Read")})
		case 4:
			data := events.RunFinishedData{}
			data.SetStatus(events.RunStatus(pick("completed", "failed", "interrupted", "unknown")))
			say(f, run, at, events.RunFinished, agent, data)
		case 5:
			say(f, run, at, events.RunSealed, "", events.RunSealedData{})
		case 6:
			say(f, run, at, events.Custom, agent, events.CustomData{Name: "no time", Common: events.Common{Untimed: true}})
		default:
			say(f, run, at, events.Custom, agent, events.CustomData{Name: "x"})
		}
	}
	f.Manifest("p")
	return f
}

func TestReader_List(t *testing.T) {
	yes, no := true, false
	filters := map[string]ledger.RunFilter{
		"All":      {},
		"From":     {From: ledgertest.Began.Add(400 * time.Second)},
		"To":       {To: ledgertest.Began.Add(400 * time.Second)},
		"Late":     {From: ledgertest.Began.Add(3000 * time.Second)},
		"Agent":    {Agent: "CODEX"},
		"Source":   {Agent: "/codex"},
		"Tool":     {Tool: "bash"},
		"Title":    {Text: "über"},
		"Prompt":   {Text: "explain it"},
		"Folder":   {Text: "/SRC/A"},
		"Open":     {States: []ledger.RunState{ledger.RunOpen}},
		"Ended":    {States: []ledger.RunState{ledger.RunFailed, ledger.RunUnknown}},
		"Sealed":   {Sealed: &yes},
		"Unsealed": {Sealed: &no},
		"Several":  {Agent: "codex", Tool: "Bash", States: []ledger.RunState{ledger.RunOpen}},
		"None":     {Tool: "Write"},
	}
	for seed := range uint64(3) {
		r := openReader(t, ledgertest.Write(t, t.TempDir(), ledgertest.NewKey(t), shuffledRuns(seed), 1000))
		all := everyRun(t, r)
		for name, f := range filters {
			for _, limit := range []int{0, 1, 7, 33} {
				got, err := r.List(t.Context(), f, limit, func(done, total uint64) {
					if done > total {
						t.Errorf("progress %d of %d", done, total)
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				want := slices.DeleteFunc(slices.Clone(all), func(s ledger.RunSummary) bool { return !wanted(f, s) })
				more := 0
				if limit > 0 && len(want) > limit {
					more, want = len(want)-limit, want[:limit]
				}
				// Runs with equal starts have no order.
				if diff := gocmp.Diff(starts(want), starts(got.Runs)); diff != "" {
					t.Errorf("%s, limit %d (-want +got):\n%s", name, limit, diff)
				}
				if timed := f.From != f.To; limit == 0 && got.Untimed != timed {
					t.Errorf("%s says that runs without a time are left out: %t", name, got.Untimed)
				}
				if got.More != more && (got.More != -1 || name == "All") {
					t.Errorf("%s, limit %d: %d more, want %d", name, limit, got.More, more)
				}
				for _, s := range got.Runs {
					if !wanted(f, s) {
						t.Errorf("%s: run %s does not match", name, s.Run)
					}
				}
			}
		}
	}
}

func starts(runs []ledger.RunSummary) (all []time.Time) {
	for _, s := range runs {
		all = append(all, s.First)
	}
	return all
}

// everyRun returns the summaries of all runs, the latest start first.
func everyRun(t *testing.T, r *ledger.Reader) (all []ledger.RunSummary) {
	t.Helper()
	runs, err := r.Runs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range runs {
		s, err := r.Summary(t.Context(), info.Run)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b ledger.RunSummary) int { return cmp.Or(b.First.Compare(a.First), cmp.Compare(a.Run, b.Run)) })
	return all
}

// wanted says on its own which runs a filter means.
func wanted(f ledger.RunFilter, s ledger.RunSummary) bool {
	if f.From != f.To && (s.Started.IsZero() || s.Started.Before(f.From) || !f.To.IsZero() && !s.Started.Before(f.To)) {
		return false
	}
	if f.Sealed != nil && s.Sealed != *f.Sealed || len(f.States) > 0 && !slices.Contains(f.States, s.State) {
		return false
	}
	switch f.Agent {
	case "CODEX", "codex":
		if s.Agent != "codex" && s.Source != "codex" {
			return false
		}
	case "/codex":
		if s.Source != "/codex" {
			return false
		}
	}
	switch f.Tool {
	case "Bash", "bash":
		if s.ToolCallsByName["Bash"] == 0 {
			return false
		}
	case "Write":
		return false
	}
	switch f.Text {
	case "über":
		return s.Title == "Über"
	case "explain it":
		return s.Prompt == "explain it"
	case "/SRC/A":
		return s.Cwd == "/src/a"
	}
	return true
}

// A run is erased or pruned if the record of its end is, and not failed or open.
func TestReader_List_Erased(t *testing.T) {
	f, key, dir := ledgertest.NewFeed("acme"), ledgertest.NewKey(t), t.TempDir()
	f.Run("p", "gone", 2)
	f.Run("p", "kept", 2)
	f.Order(t, key, ledgertest.EraseRun("gone"))
	r := openReader(t, ledgertest.Write(t, dir, key, f, 1000))
	for _, test := range []struct {
		state ledger.RunState
		run   string
	}{{ledger.RunErased, "gone"}, {ledger.RunCompleted, "kept"}, {ledger.RunFailed, ""}, {ledger.RunOpen, ""}} {
		got, err := r.List(t.Context(), ledger.RunFilter{States: []ledger.RunState{test.state}}, 0, func(uint64, uint64) {})
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case test.run == "" && len(got.Runs) == 0:
		case len(got.Runs) != 1 || got.Runs[0].Run != test.run:
			t.Errorf("%s: got %+v, want %q", test.state, got.Runs, test.run)
		}
	}
}
