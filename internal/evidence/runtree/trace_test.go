package runtree_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type timeline struct {
	t   testing.TB
	now time.Time
	all []events.Event
}

func newTimeline(t testing.TB) *timeline {
	t.Helper()
	return &timeline{t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func (l *timeline) add(kind events.Kind, step, call string, payload any) *events.Event {
	l.t.Helper()
	e, err := events.New(kind, "/engine", payload)
	if err != nil {
		l.t.Fatal(err)
	}
	l.now = l.now.Add(time.Second)
	e.ID = fmt.Sprintf("e%d", len(l.all))
	e.Time, e.Tenant, e.Run, e.Step, e.ToolCall = l.now, "acme", "r1", step, call
	l.all = append(l.all, e)
	return &l.all[len(l.all)-1]
}

func (l *timeline) trace() runtree.Trace { return traceOf(l.all) }

func traceOf(list []events.Event) runtree.Trace {
	fold := runtree.Fold{Tenant: "acme"}
	for _, e := range list {
		fold.Add(e)
	}
	return fold.Trace("r1")
}

func verdict(v events.Verdict) events.Outcome { return events.Outcome{Verdict: v, Reason: "because"} }

func TestFold_CallsAndResults(t *testing.T) {
	l := newTimeline(t)
	one := 1
	l.add(events.ToolBefore, "s", "c1", events.ToolBeforeData{Tool: "Bash", Args: json.RawMessage(`{"command":"ls"}`)})
	l.add(events.ToolBefore, "s", "c2", events.ToolBeforeData{Tool: "Bash"})
	l.add(events.ToolResult, "s", "c1", events.ToolResultData{Tool: "Bash", Status: events.ToolSuccess})
	l.add(events.ToolResult, "s", "c9", events.ToolResultData{Tool: "Read", Status: events.ToolError, DurationMS: 5, ExitCode: &one})
	got := l.trace()
	if got.ToolCalls != 2 || got.Unanswered != 1 || got.ToolErrors != 1 || len(got.Steps) != 1 {
		t.Fatalf("got %d calls, %d unanswered, %d errors, %d steps", got.ToolCalls, got.Unanswered, got.ToolErrors, len(got.Steps))
	}
	rows := got.Steps[0].Rows
	if len(rows) != 3 || rows[0].DurationMS != 2000 || rows[0].Detail != "ls" || rows[1].Status != "" || rows[2].Name != "Read" || *rows[2].ExitCode != 1 {
		t.Errorf("got rows %+v", rows)
	}
}

func TestFold_DeniedCalls(t *testing.T) {
	l := newTimeline(t)
	ask := func(call string, answer events.Verdict) {
		l.add(events.ToolBefore, "s", call, events.ToolBeforeData{Tool: "Bash", Outcome: verdict(events.VerdictAsk)})
		l.add(events.Approval, "s", call, events.ApprovalData{Tool: "Bash", Outcome: verdict(answer)})
	}
	l.add(events.ToolBefore, "s", "c1", events.ToolBeforeData{Tool: "Bash", Outcome: verdict(events.VerdictDeny)})
	ask("c2", events.VerdictNone)
	ask("c3", events.VerdictAllow)
	l.add(events.ToolResult, "s", "c3", events.ToolResultData{Tool: "Bash", Status: events.ToolSuccess})
	ask("c4", "") // a person answers in the result
	l.add(events.ToolBefore, "s", "c5", events.ToolBeforeData{Tool: "Bash"})
	l.add(events.Approval, "s", "c5", events.ApprovalData{Tool: "Bash", Outcome: verdict(events.VerdictDeny)})
	l.add(events.Approval, "s", "c9", events.ApprovalData{})
	got := l.trace()
	if got.ToolCalls != 5 || got.Denied != 3 || got.Unanswered != 1 || got.Steps[0].Rows[0].Reason != "because" {
		t.Errorf("got %d calls, %d denied, %d unanswered, %+v", got.ToolCalls, got.Denied, got.Unanswered, got.Steps[0].Rows[0])
	}
}

// Some agents ask about a call without its id.
func TestFold_DeniedWithoutID(t *testing.T) {
	l := newTimeline(t)
	list, remove := json.RawMessage(`{"command":"ls"}`), json.RawMessage(`{"command":"rm x"}`)
	l.add(events.ToolBefore, "s", "c1", events.ToolBeforeData{Tool: "Bash", Args: remove})
	l.add(events.ToolResult, "s", "c1", events.ToolResultData{Tool: "Bash", Status: events.ToolSuccess})
	l.add(events.ToolBefore, "s", "c2", events.ToolBeforeData{Tool: "Bash", Args: list})
	l.add(events.ToolBefore, "s", "c3", events.ToolBeforeData{Tool: "Bash", Args: remove})
	l.add(events.Approval, "s", "", events.ApprovalData{Tool: "bash", Args: remove, Outcome: verdict(events.VerdictDeny)})
	l.add(events.Approval, "s", "", events.ApprovalData{Tool: "Read", Outcome: verdict(events.VerdictDeny)})
	got := l.trace()
	if rows := got.Steps[0].Rows; got.Denied != 1 || got.Unanswered != 1 || !rows[2].Denied() || rows[2].Reason != "because" {
		t.Errorf("got %d denied, %d unanswered", got.Denied, got.Unanswered)
	}
}

func TestFold_LatestAggregateCounts(t *testing.T) {
	l := newTimeline(t)
	l.add(events.StepFinished, "s", "", events.StepFinishedData{StepStatus: events.StepFailed, Error: &events.Failure{Message: "no"}})
	l.add(events.RunFinished, "", "", events.RunFinishedData{TokensUsed: &events.Tokens{Input: 1}})
	l.add(events.RunSealed, "", "", events.RunSealedData{Count: 2})
	if got := l.trace(); !got.Sealed || !got.Finished || got.Success {
		t.Errorf("got sealed %v, finished %v, success %v", got.Sealed, got.Finished, got.Success)
	}
	l.add(events.StepFinished, "s", "", events.StepFinishedData{StepStatus: events.StepCompleted, DurationMS: 7})
	l.add(events.RunFinished, "", "", events.RunFinishedData{Success: true, TokensUsed: &events.Tokens{Input: 2}})
	got := l.trace()
	if got.Sealed || !got.Success || got.Tokens.Input != 2 || len(got.Steps) != 1 || got.Steps[0].Failure != nil || got.Steps[0].DurationMS != 7 {
		t.Errorf("got %+v with step %+v", got, got.Steps[0])
	}
}

// Events without a step belong to the latest prompt.
func TestFold_StepsOfPrompts(t *testing.T) {
	l := newTimeline(t)
	answer := func(message string) {
		l.add(events.ResponseCompleted, "", "", events.ResponseCompletedData{Message: message, Model: "m", TokensUsed: &events.Tokens{Input: 1, Output: 2}})
	}
	l.add(events.ToolBefore, "", "c0", events.ToolBeforeData{Tool: "Early"})
	l.add(events.PromptSubmit, "p1", "", events.PromptSubmitData{Prompt: "one"})
	l.add(events.ToolBefore, "", "c1", events.ToolBeforeData{Tool: "Bash"})
	answer("m1")
	answer("m1") // repeated with more tokens
	l.add(events.StepFinished, "", "", events.StepFinishedData{StepStatus: events.StepCompleted, OutputSummary: "done"})
	l.add(events.PromptSubmit, "p2", "", events.PromptSubmitData{Prompt: "two"})
	answer("m2")
	answer("m3")
	l.add(events.ToolBefore, "", "c2", events.ToolBeforeData{Tool: "Read"})
	var got []string
	for _, s := range l.trace().Steps {
		got = append(got, fmt.Sprint(s.ID, " ", s.Input, " ", s.Status, " ", s.Output, " ", s.Tokens.Output, " ", s.DurationMS))
		for _, row := range s.Rows {
			got = append(got, row.Name)
		}
	}
	want := []string{"p1 one completed done 2 5000", "Early", "Bash", "p2 two running  4 3000", "Read"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := l.trace(); got.Tokens.Output != 6 || got.Model != "m" || got.Finished {
		t.Errorf("got tokens %+v, model %q, finished %v", got.Tokens, got.Model, got.Finished)
	}
}

// Tokens count for responses without a step or an id.
func TestFold_AnswersAlone(t *testing.T) {
	l := newTimeline(t)
	for _, message := range []string{"m1", "", "", "m1"} {
		l.add(events.ResponseCompleted, "s", "", events.ResponseCompletedData{Message: message, TokensUsed: &events.Tokens{Input: 1, Output: 2}})
	}
	if got := l.trace(); got.Tokens.Input != 3 || got.Tokens.Output != 6 || len(got.Steps) != 1 || got.Steps[0].ID != "s" {
		t.Errorf("got %+v in %d steps", got.Tokens, len(got.Steps))
	}
}

func TestFold_Subagents(t *testing.T) {
	l := newTimeline(t)
	l.add(events.ToolBefore, "s", "c1", events.ToolBeforeData{Tool: "Task"})
	l.add(events.SubagentStart, "s", "c1", events.SubagentStartData{Subagent: "a1"})
	l.add(events.SubagentStart, "s", "", events.SubagentStartData{Subagent: "a2", TaskType: "general"}) // the next result names it
	l.add(events.ToolBefore, "s", "c2", events.ToolBeforeData{Tool: "Agent"})
	l.add(events.ToolResult, "s", "c2", events.ToolResultData{Tool: "Agent", Status: events.ToolSuccess, Result: []byte(`{"agentId":"a2"}`)})
	l.add(events.SubagentStart, "s", "", events.SubagentStartData{Subagent: "own", TaskType: "free"})
	l.add(events.SubagentStopped, "s", "", events.SubagentStoppedData{Subagent: "own"})
	for _, run := range []string{"r1/a1", "r1/a2", "own"} {
		e := l.add(events.ToolBefore, "", "c-"+run, events.ToolBeforeData{Tool: "Bash"})
		e.Run, e.ParentRun = run, "r1"
	}
	e := l.add(events.RunStarted, "", "", events.RunStartedData{})
	e.Run, e.ParentRun = "below", "own"
	got := l.trace()
	var rows []string
	for _, row := range got.Steps[0].Rows {
		rows = append(rows, row.Name+" "+row.Run)
	}
	if diff := cmp.Diff([]string{"Task r1/a1", "Agent r1/a2", "free own"}, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if len(got.Children) != 3 || got.Children[0].Run != "r1/a1" || got.Children[2].Children[0].Run != "below" {
		t.Errorf("got children %+v", got.Children)
	}
	fold := runtree.Fold{}
	for _, e := range l.all {
		fold.Add(e)
	}
	if diff := cmp.Diff([]string{"r1/a1", "a1", "r1/a2", "a2", "r1/own", "own"}, fold.Subagents("r1")); diff != "" {
		t.Errorf("sub-agents (-want +got):\n%s", diff)
	}
}

// Runs that name each other as parents are shown once.
func TestFold_Circle(t *testing.T) {
	l := newTimeline(t)
	l.add(events.RunStarted, "", "", events.RunStartedData{}).ParentRun = "r2"
	e := l.add(events.RunStarted, "", "", events.RunStartedData{})
	e.Run, e.ParentRun = "r2", "r1"
	got := l.trace()
	if len(got.Children) != 1 || len(got.Children[0].Children) != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestFold_BrokenPayload(t *testing.T) {
	fold := runtree.Fold{}
	for _, kind := range events.Kinds() {
		fold.Add(events.Event{Type: kind.Type(), Run: "r1", Data: json.RawMessage(`[1]`)})
	}
	if got := fold.Trace("r1").Events; got != len(events.Kinds()) {
		t.Errorf("got %d events, want %d", got, len(events.Kinds()))
	}
	if got := fold.Trace("other"); got.Events != 0 || got.Steps == nil {
		t.Errorf("got %+v of a run without events", got)
	}
}

// Events in any order, also repeated, give the same trace.
//
//guarantee:payload-again
func TestFold_AnyOrder(t *testing.T) {
	l := newTimeline(t)
	l.add(events.RunStarted, "", "", events.RunStartedData{Cwd: "/w", Version: "1"})
	for i := range 3 {
		step, call := fmt.Sprint("p", i), fmt.Sprint("c", i)
		l.add(events.PromptSubmit, step, "", events.PromptSubmitData{Prompt: step})
		l.add(events.ToolBefore, "", call, events.ToolBeforeData{Tool: "Bash", Outcome: verdict([]events.Verdict{"", events.VerdictDeny, events.VerdictAsk}[i])})
		l.add(events.Approval, "", call, events.ApprovalData{Outcome: verdict([]events.Verdict{"", "", events.VerdictNone}[i])})
		l.add(events.ToolResult, "", call, events.ToolResultData{Tool: "Bash", Status: events.ToolError, Error: &events.Failure{Message: "no"}})
		l.add(events.ResponseCompleted, "", "", events.ResponseCompletedData{Message: "m", TokensUsed: &events.Tokens{Input: int64(i)}})
		l.add(events.StepFinished, "", "", events.StepFinishedData{StepStatus: events.StepCompleted, OutputSummary: call})
		l.add(events.RunFinished, "", "", events.RunFinishedData{Success: i%2 == 0})
	}
	want := l.trace()
	rapid.Check(t, func(rt *rapid.T) {
		list := rapid.Permutation(slices.Concat(l.all, l.all)).Draw(rt, "events")
		if diff := cmp.Diff(want, traceOf(list), cmpopts.IgnoreUnexported(runtree.Step{}, runtree.Row{})); diff != "" {
			rt.Errorf("(-in order +shuffled):\n%s", diff)
		}
	})
}

// Whatever the forms of the payloads and their order, the successful result of a denied call is
// marked.
//
//guarantee:denied-result
func TestFold_DeniedResult(t *testing.T) {
	for name, payloads := range map[string][]struct {
		kind events.Kind
		data string
	}{
		"Plain":       {{events.ToolBefore, `{"tool":"Bash","verdict":"deny"}`}, {events.ToolResult, `{"tool":"Bash","status":"success"}`}},
		"ResultFirst": {{events.ToolResult, `{"tool":"Bash","status":"success"}`}, {events.ToolBefore, `{"tool":"Bash","verdict":"deny"}`}},
		"Approval":    {{events.Approval, `{"tool":"Bash","verdict":"deny"}`}, {events.ToolResult, `{"tool":"Bash","status":"success"}`}},
		"OtherForms":  {{events.ToolBefore, `{"Verdict":"deny","verdict":"allow"}`}, {events.ToolResult, `{"tool":"Bash","status":"success","duration_ms":"x"}`}},
		"BadBoth":     {{events.ToolBefore, `{"verdict":"deny","executions":5}`}, {events.ToolResult, `{"status":"success","duration_ms":1e2}`}},
		"ThenError": {
			{events.ToolResult, `{"tool":"Bash","status":"success"}`},
			{events.ToolResult, `{"tool":"Bash","status":"error"}`},
			{events.ToolBefore, `{"tool":"Bash","verdict":"deny"}`},
		},
	} {
		l := newTimeline(t)
		for _, p := range payloads {
			l.add(p.kind, "s", "c1", json.RawMessage(p.data)).Data = []byte(p.data)
		}
		got := l.trace()
		if got.DeniedResults != 1 || len(got.Steps[0].Rows) != 1 || !got.Steps[0].Rows[0].DeniedResult {
			t.Errorf("%s: %d denied results, %+v", name, got.DeniedResults, got.Steps[0].Rows)
		}
	}
}

// A call shows the arguments with which it ran, also if a transcript has those of the model.
func TestFold_PatchedArguments(t *testing.T) {
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		l := newTimeline(t)
		for _, i := range order {
			data := []events.ToolBeforeData{
				{Tool: "Bash", Args: json.RawMessage(`{"command":"rm -rf x"}`), PatchedArgs: json.RawMessage(`{"command":"rm -i x"}`)},
				{Tool: "Bash", Args: json.RawMessage(`{"command":"rm -rf x"}`)},
			}[i]
			l.add(events.ToolBefore, "s", "c", data)
		}
		if rows := l.trace().Steps[0].Rows; len(rows) != 1 || rows[0].Detail != "rm -i x" {
			t.Errorf("order %v: got %+v", order, rows)
		}
	}
}
