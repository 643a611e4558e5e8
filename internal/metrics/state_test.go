package metrics

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestState_Counts(t *testing.T) {
	dir := t.TempDir()
	if err := apply(t, dir, 100, messages(1, recorded(t)...)...); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(recordedValues, values(t, dir)); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	all := dump(t, dir)
	for name, want := range map[string]string{
		`run_duration_seconds["acme","RESOLVE"]`:    "11000000 [0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0]",
		`step_duration_seconds["acme","CODER"]`:     "9000000 [0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0]",
		`tool_call_duration_seconds["acme","Bash"]`: "1040000 [0,0,0,1,0,0,0,1,0,0,0,0,0,0,0,0,0]",
	} {
		if all[name] != want {
			t.Errorf("%s: got %s, want %s", name, all[name], want)
		}
	}
	got, err := Snapshot(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	want := Summary{
		Runs: 1, RunsFailed: 1, Steps: 1, StepsFailed: 1, ToolCalls: 4, ToolErrors: 1, ToolsDenied: 1, ToolsWaiting: 1,
		Tools:      []ToolSummary{{Tool: "Bash", Calls: 3, Errors: 1, Denied: 1}, {Tool: "Read", Calls: 1, Waiting: 1}},
		TokensUsed: events.Tokens{Input: 7, Output: 9, CacheCreation: 10, CacheRead: 100}, HookFailures: 1, StreamApplied: 12,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

func TestState_CopiesCountNothing(t *testing.T) {
	dir := t.TempDir()
	first := recorded(t)
	again := recorded(t)
	for i := range again { // the same import through another producer
		from("q", i+1)(&again[i])
	}
	orphans := messages(25, first[:4]...) // events of a half-stored batch
	if err := errors.Join(apply(t, dir, 100, messages(1, first...)...),
		apply(t, dir, 100, messages(13, again...)...), apply(t, dir, 100, orphans...)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(recordedValues, values(t, dir)); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

func TestState_GrowingRunReplaces(t *testing.T) {
	dir := t.TempDir()
	more := []events.Event{
		event(t, 12, events.ToolResult, events.ToolResultData{Status: events.ToolSuccess}, call("c3")),
		event(t, 13, events.StepFinished, events.StepFinishedData{StepStatus: events.StepCompleted, DurationMS: 12_000}, step("s1")),
		event(t, 14, events.RunFinished, events.RunFinishedData{Success: true, DurationMS: 14_000, Cost: &events.Cost{USD: 1.5}}),
	}
	// The first snapshot arrives again with other sequences.
	again := recorded(t)
	for i := range again {
		from("q", i+1)(&again[i])
	}
	if err := apply(t, dir, 100, messages(1, append(append(recorded(t), more...), again...)...)...); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	maps.Copy(want, recordedValues)
	delete(want, `runs_total["acme","RESOLVE","failed"]`)
	delete(want, `steps_total["acme","CODER","failed"]`)
	delete(want, `tool_calls_active["acme","Read"]`)
	want[`runs_total["acme","RESOLVE","completed"]`] = "1"
	delete(want, `cost_usd_total["acme","true"]`)
	want[`cost_usd_total["acme","false"]`] = "1500000"
	want[`steps_total["acme","CODER","completed"]`] = "1"
	want[`tool_calls_total["acme","Read","success"]`] = "1"
	if diff := cmp.Diff(want, values(t, dir)); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	if got, want := dump(t, dir)[`run_duration_seconds["acme","RESOLVE"]`], "14000000 [0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0]"; got != want {
		t.Errorf("run duration: got %s, want %s", got, want)
	}
}

func TestState_TokensOfTheFinestLevel(t *testing.T) {
	end := func(n int, input int64) events.Event {
		return event(t, n, events.RunFinished, events.RunFinishedData{TokensUsed: &events.Tokens{Input: input}})
	}
	stepWith := func(n int, id string, used *events.Tokens) events.Event {
		return event(t, n, events.StepFinished, events.StepFinishedData{StepStatus: events.StepCompleted, TokensUsed: used}, step(id))
	}
	answer := event(t, 7, events.ResponseCompleted, events.ResponseCompletedData{TokensUsed: &events.Tokens{Input: 1}})
	for _, tt := range []struct {
		name string
		in   []events.Event
		want string
	}{
		{"OfTheRun", []events.Event{end(0, 70)}, "70"},
		{"OfTheRunAgain", []events.Event{end(0, 70), end(1, 80)}, "80"},
		{"OfSteps", []events.Event{stepWith(0, "a", &events.Tokens{Input: 3}), stepWith(1, "b", &events.Tokens{Input: 4}), end(2, 70)}, "7"},
		{"OfStepsAfterTheRun", []events.Event{end(0, 70), stepWith(1, "a", &events.Tokens{Input: 3})}, "3"},
		{"OfAnswers", []events.Event{end(0, 70), stepWith(1, "a", &events.Tokens{Input: 3}), answer}, "1"},
		{"BackToTheRun", []events.Event{end(0, 70), stepWith(1, "a", &events.Tokens{Input: 3}), stepWith(2, "a", nil)}, "70"},
		{"Unbelievable", []events.Event{end(0, -5), event(t, 1, events.RunFinished, events.RunFinishedData{
			TokensUsed: &events.Tokens{Input: 1 << 62},
		}, run("r2"))}, "1099511627776"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := apply(t, dir, 100, messages(1, tt.in...)...); err != nil {
				t.Fatal(err)
			}
			if got := values(t, dir)[`tokens_total["acme","CODER","input"]`]; got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// Of two ends of a run at the same time the stronger status counts, whichever came first.
func TestState_EndsAtTheSameTime(t *testing.T) {
	ends := []events.Event{
		event(t, 0, events.RunFinished, events.RunFinishedData{Success: true, DurationMS: 7}),
		event(t, 1, events.RunFinished, events.RunFinishedData{RunStatus: events.RunFailed, DurationMS: 2}),
		event(t, 2, events.RunFinished, events.RunFinishedData{RunStatus: events.RunFailed, DurationMS: 5000}),
	}
	for range 2 {
		for i := range ends {
			ends[i].Time = ends[0].Time
		}
		dir := t.TempDir()
		if err := apply(t, dir, 100, messages(1, ends...)...); err != nil {
			t.Fatal(err)
		}
		got := values(t, dir)
		length := dump(t, dir)[`run_duration_seconds["acme","unknown"]`]
		if got[`runs_total["acme","unknown","failed"]`] != "1" || !strings.HasPrefix(length, "5000000 ") {
			t.Errorf("got %v and %s", got, length)
		}
		slices.Reverse(ends)
	}
}

// A call after an end by silence makes the run active until its next end.
//
//guarantee:idle-sealed
func TestState_ContinuesAfterSilence(t *testing.T) {
	idle := events.RunFinishedData{RunStatus: events.RunUnknown, Reason: events.ReasonIdle}
	all := []events.Event{
		event(t, 0, events.RunStarted, events.RunStartedData{}),
		event(t, 1, events.RunFinished, idle),
		event(t, 2, events.ToolBefore, events.ToolBeforeData{Tool: "bash"}),
		event(t, 3, events.RunFinished, idle),
		event(t, 4, events.ResponseCompleted, events.ResponseCompletedData{}),
		event(t, 5, events.RunFinished, events.RunFinishedData{RunStatus: events.RunCompleted}),
		event(t, 6, events.ToolBefore, events.ToolBeforeData{Tool: "bash"}),
	}
	for n, want := range map[int][3]string{
		2: {"", "1", ""}, 3: {"1", "", ""}, 4: {"", "1", ""}, 5: {"1", "", ""}, 6: {"", "", "1"}, 7: {"", "", "1"},
	} {
		dir := t.TempDir()
		if err := apply(t, dir, 100, messages(1, all[:n]...)...); err != nil {
			t.Fatal(err)
		}
		v := values(t, dir)
		got := [3]string{v[`runs_active["acme","unknown"]`], v[`runs_total["acme","unknown","unknown"]`], v[`runs_total["acme","unknown","completed"]`]}
		if got != want {
			t.Errorf("after %d events: got active, unknown and completed %q, want %q", n, got, want)
		}
	}
}

func TestState_LabelsAreBounded(t *testing.T) {
	dir := t.TempDir()
	var all []events.Event
	for n := range 6 {
		all = append(all, event(t, n, events.ToolBefore, events.ToolBeforeData{Tool: fmt.Sprint("T", n)}, call(fmt.Sprint(n))))
	}
	for n := range 6 {
		all = append(all, event(t, 6+n, events.ToolResult, events.ToolResultData{Status: events.ToolSuccess}, call(fmt.Sprint(n))))
	}
	all = append(all, event(t, 12, events.ToolBefore, events.ToolBeforeData{Tool: strings.Repeat("é", 200)}, call("x")))
	if err := apply(t, dir, 4, messages(1, all...)...); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		`tool_calls_total["acme","T0","success"]`: "1", `tool_calls_total["acme","T1","success"]`: "1",
		`tool_calls_total["acme","T2","success"]`: "1", `tool_calls_total["acme","T3","success"]`: "1",
		`tool_calls_total["acme","other","success"]`: "2", `tool_calls_active["acme","other"]`: "1",
	}
	if diff := cmp.Diff(want, values(t, dir)); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	if got := tidy(strings.Repeat("é", 200)); len(got) > maxValue || !strings.HasPrefix(strings.Repeat("é", 200), got) {
		t.Errorf("tidy: got %d bytes", len(got))
	}
}

func TestState_Poison(t *testing.T) {
	good := recorded(t)[0]
	for name, m := range map[string]consume.Message{
		"NoEvent":      {Data: []byte("{}")},
		"OtherTenant":  {Data: good.Encode(), Address: subjects.Address{Tenant: "evil", Producer: "p", Run: "r1", Kind: good.Kind()}},
		"OtherData":    {Data: event(t, 1, events.ToolResult, []int{1}).Encode(), Address: subjects.Address{Tenant: "acme", Producer: "p", Run: "r1", Kind: events.ToolResult}},
		"OtherOutcome": {Data: event(t, 1, events.Approval, map[string]any{"executions": 7}).Encode(), Address: subjects.Address{Tenant: "acme", Producer: "p", Run: "r1", Kind: events.Approval}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			m.Sequence = 2
			err := apply(t, dir, 100, append(messages(1, good), m)...)
			var poison *consume.Poison
			if !errors.As(err, &poison) || poison.Sequence != 2 {
				t.Fatalf("got %v, want message 2 to be poison", err)
			}
			if got := values(t, dir); len(got) != 0 {
				t.Errorf("state after a failure: %v", got)
			}
		})
	}
}

func TestState_OtherTenantsAreRefused(t *testing.T) {
	dir := t.TempDir()
	s, err := openState(t.Context(), dir, "acme", 100, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := openState(t.Context(), dir, "", 100, slog.New(slog.DiscardHandler)); !errors.Is(err, ErrTenant) {
		t.Errorf("got %v, want %v", err, ErrTenant)
	}
}

func TestState_SameNumbersWhateverTheBatches(t *testing.T) {
	race.Draw(t, 100, 15)
	rapid.Check(t, func(rt *rapid.T) {
		all := messages(1, history(t, rt)...)
		once, often := t.TempDir(), t.TempDir()
		if err := apply(t, once, 3, all...); err != nil {
			rt.Fatal(err)
		}
		for rest := all; len(rest) > 0; {
			n := min(len(rest), rapid.IntRange(1, 12).Draw(rt, "batch"))
			if rapid.IntRange(0, 3).Draw(rt, "accident") == 0 {
				bad := append(append([]consume.Message(nil), rest[:n]...), consume.Message{Sequence: 1 << 40, Data: []byte("{}")})
				if err := apply(t, often, 3, bad...); err == nil {
					rt.Fatal("poison was applied")
				}
			}
			if err := apply(t, often, 3, rest[:n]...); err != nil {
				rt.Fatal(err)
			}
			rest = rest[n:]
		}
		if diff := cmp.Diff(dump(t, once), dump(t, often)); diff != "" {
			rt.Errorf("series (-once +often):\n%s", diff)
		}
		for name, value := range dump(t, once) {
			if strings.HasPrefix(value, "-") || strings.Contains(value, ",-") {
				rt.Errorf("%s is below zero: %s", name, value)
			}
		}
	})
}

func TestSnapshot_NothingThere(t *testing.T) {
	if _, err := Snapshot(t.Context(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want %v", err, os.ErrNotExist)
	}
}
