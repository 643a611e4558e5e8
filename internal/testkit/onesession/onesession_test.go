package onesession

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// result describes what people read about a run.
type result struct {
	Steps                                  map[events.StepStatus]int
	Calls, Errors, Denied, Open, Anomalies int
	Tools                                  map[string]int
	Tokens                                 events.Tokens
	Status                                 events.RunStatus
	Rows                                   []string
}

func want(tool string) result {
	row := func(command, status string) string { return fmt.Sprint(tool, " ", command, " ", status) }
	return result{
		Steps: map[events.StepStatus]int{events.StepCompleted: 1}, Calls: 4, Errors: 1, Denied: 1,
		Tools: map[string]int{tool: 4}, Tokens: events.Tokens{Input: 500, Output: 50}, Status: events.RunCompleted,
		Rows: []string{
			row("echo hello", "success"), row("cat /none", "error"), row("touch DENYME", "denied "+reason), row("echo hello", "success"),
		},
	}
}

func treeOf(list []events.Event) result {
	fold := runtree.Fold{Tenant: "acme"}
	for _, e := range list {
		fold.Add(e)
	}
	t := fold.Trace(session)
	got := result{
		Steps: map[events.StepStatus]int{}, Calls: t.ToolCalls, Errors: t.ToolErrors, Denied: t.Denied, Open: t.Unanswered,
		Anomalies: t.DeniedResults, Tools: t.Tools, Tokens: t.Tokens, Status: t.RunStatus,
	}
	for _, s := range t.Steps {
		got.Steps[s.Status]++
		for _, r := range s.Rows {
			status := string(r.Status)
			if r.Denied() {
				status = "denied " + r.Reason
			}
			got.Rows = append(got.Rows, fmt.Sprint(r.Name, " ", r.Detail, " ", status))
		}
	}
	return got
}

// Hooks, transcript and telemetry of a session are one run with each call once, in any order of arrival and
// whichever clock is ahead.
//
//guarantee:one-session
func TestTrace(t *testing.T) {
	for agent, s := range samples {
		t.Run(agent, func(t *testing.T) {
			live := hooked(t, agent)
			shifts := []time.Duration{-900 * time.Millisecond, -time.Millisecond, 0, 300 * time.Millisecond, 900 * time.Millisecond}
			written, sent := map[time.Duration][]events.Event{}, map[time.Duration][]events.Event{}
			for _, d := range shifts {
				written[d], sent[d] = imported(t, agent, d), reported(t, agent, d)
			}
			rapid.Check(t, func(rt *rapid.T) {
				all := slices.Concat(live, written[rapid.SampledFrom(shifts).Draw(rt, "transcript")])
				if rapid.Bool().Draw(rt, "with telemetry") {
					all = slices.Concat(all, sent[rapid.SampledFrom(shifts).Draw(rt, "telemetry")])
				}
				mixed := make([]events.Event, len(all))
				for from, to := range rapid.Permutation(numbers(len(all))).Draw(rt, "order") {
					mixed[to] = all[from]
				}
				if diff := cmp.Diff(want(s.tool), treeOf(mixed)); diff != "" {
					rt.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// The list of runs has the same numbers as a run's waterfall, and the verifier has no objection.
func TestSummary(t *testing.T) {
	key := ledgertest.NewKey(t)
	for agent, s := range samples {
		live := hooked(t, agent)
		later := slices.Concat(imported(t, agent, 100*time.Millisecond), reported(t, agent, 50*time.Millisecond))
		turns := slices.Concat(live, later)
		slices.SortStableFunc(turns, func(a, b events.Event) int { return a.Time.Compare(b.Time) })
		for order, list := range map[string][]events.Event{
			"HooksFirst": slices.Concat(live, later), "TranscriptFirst": slices.Concat(later, live), "InTurns": turns,
		} {
			t.Run(agent+"/"+order, func(t *testing.T) {
				path := ledgertest.Write(t, t.TempDir(), key, feed(list), 1000)
				r, err := ledger.OpenReader(path)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				sum, err := r.Summary(t.Context(), session)
				if err != nil {
					t.Fatal(err)
				}
				got := result{
					Steps: sum.Steps, Calls: sum.ToolCalls, Errors: sum.ToolErrors, Denied: sum.ToolDenied, Open: sum.Unanswered,
					Anomalies: sum.Unasked, Tools: sum.ToolCallsByName, Tokens: sum.Tokens, Status: sum.Finished.Status(),
				}
				wanted := want(s.tool)
				wanted.Rows = nil
				if diff := cmp.Diff(wanted, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				report, err := verifier.Verify(t.Context(), path, verifier.Options{Key: ledgertest.VerifierOf(key)})
				if err != nil || report.DeniedResultCount > 0 || report.Contradictions > 0 {
					t.Errorf("verified: %v, %+v", err, report)
				}
			})
		}
	}
}

// A successful result of a denied call is still an alarm, whoever states it.
func TestTrace_ForgedResult(t *testing.T) {
	for agent := range samples {
		list := slices.Concat(hooked(t, agent), imported(t, agent, 0))
		for i, e := range list {
			if data, err := events.Payload[events.ToolResultData](e); err == nil && data.Status == events.ToolDenied {
				forged := e
				forged.ID = "forged"
				if err := forged.SetData(events.ToolResultData{Tool: "x", Status: events.ToolSuccess}); err != nil {
					t.Fatal(err)
				}
				list = slices.Insert(list, i, forged)
				break
			}
		}
		if got := treeOf(list); got.Anomalies != 1 || got.Denied != 1 || got.Errors != 1 {
			t.Errorf("%s: got %+v", agent, got)
		}
	}
}

func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func feed(list []events.Event) *ledgertest.Feed {
	f := ledgertest.NewFeed("acme")
	for i, e := range list {
		e.Producer, e.Sequence, e.Salt = "p", uint64(i+1), "c2FsdHNhbHRzYWx0c2FsdA"
		f.Add(subjects.Address{Tenant: e.Tenant, Producer: e.Producer, Run: e.Run, Kind: e.Kind()}, e.Encode())
	}
	return f
}
