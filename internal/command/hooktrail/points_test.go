package hooktrail

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

type counted struct{ c *pointCounter }

func (a counted) Append(_ context.Context, e events.Event) (events.Event, error) {
	a.c.add(e)
	return e, nil
}

func TestFired_OfAnEngine(t *testing.T) {
	c := newPointCounter()
	e := hooks.NewEngine(hooks.NewRegistry(hooks.Options{Appender: counted{c}}), hooks.Meta{})
	hooks.ToolBefore.On(e.Registry(), func(_ context.Context, _ hooks.Meta, call hooks.ToolCall) (*hooks.Decision[hooks.ToolPatch], error) {
		switch call.Tool {
		case "rm":
			return &hooks.Decision[hooks.ToolPatch]{Verdict: hooks.Deny}, nil
		case "ask":
			return &hooks.Decision[hooks.ToolPatch]{Verdict: hooks.Ask}, nil
		case "ls":
			return &hooks.Decision[hooks.ToolPatch]{Patch: &hooks.ToolPatch{Args: `{}`}}, nil
		}
		return nil, errors.New("no")
	}, hooks.Name("guard"))
	err := e.Run(t.Context(), hooks.RunInfo{}, func(ctx context.Context) error {
		for _, tool := range []string{"rm", "ask", "ls", "other"} {
			_, _ = e.Tool(ctx, hooks.ToolCall{Tool: tool}, func(context.Context, hooks.ToolCall) (hooks.JSON, error) { return "1", nil })
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f := c.result("acme", "r1")
	got := map[events.Kind][5]int{}
	for _, p := range f.Points {
		got[p.Point] = [5]int{p.Fired, p.Denied, p.Asked, p.Executions, p.Failed}
	}
	want := map[events.Kind][5]int{
		events.ToolBefore: {4, 1, 1, 4, 1}, events.Approval: {1, 0, 0, 0, 0}, events.ToolResult: {2, 0, 0, 0, 0},
		events.RunStarted: {1, 0, 0, 0, 0}, events.RunFinished: {1, 0, 0, 0, 0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(f.Never) != len(hooks.Points())-len(want) {
		t.Errorf("never: %v", f.Never)
	}
	guard := *f.Points[0].Hooks[0]
	guard.Hook = ""
	if diff := cmp.Diff(FiredHook{Name: "guard", Executions: 4, Failed: 1, Denied: 1, Modified: 1, Errors: map[string]int{"failed": 1}}, guard); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// fired returns a run with hooks that failed in every way.
func fired(t *testing.T) *timeline {
	t.Helper()
	l := newTimeline(t)
	slow := events.Execution{Hook: "hook-00000001", Name: "slow", Point: events.ToolBefore, Error: "timed out", TimedOut: true}
	fine := events.Execution{Hook: "hook-00000002", Name: "rules", Point: events.ToolBefore, Success: true, Verdict: events.VerdictDeny}
	l.add(events.ToolBefore, "s", "c", events.ToolBeforeData{Tool: "T", Outcome: events.Outcome{Verdict: events.VerdictDeny, Executions: []events.Execution{slow, fine}}})
	l.add(events.HookExecuted, "s", "c", events.HookExecutedData{Execution: slow, Late: true})
	l.add(events.HookExecuted, "s", "c", events.HookExecutedData{Execution: events.Execution{Hook: "hook-00000003", Point: events.ToolResult, Error: "panicked"}})
	l.add(events.StepFinished, "s", "", events.StepFinishedData{StepStatus: events.StepFailed})
	l.add(events.RunSealed, "", "", events.RunSealedData{Count: 1})
	l.add(events.Custom, "", "", events.CustomData{Name: "x"})
	return l
}

func TestFired_Golden(t *testing.T) {
	c := newPointCounter()
	for _, e := range fired(t).all {
		c.add(e)
	}
	f := c.result("acme", "r1")
	var b bytes.Buffer
	f.write(&b, cli.Palette{})
	golden(t, "points.txt", b.Bytes())
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "points.json", append(data, '\n'))
}

func TestFired_BrokenPayload(t *testing.T) {
	c := newPointCounter()
	for _, kind := range []events.Kind{events.ToolBefore, events.HookExecuted, events.RunFinished} {
		c.add(events.Event{Type: kind.Type(), Run: "r1", Data: json.RawMessage(`[1]`)})
	}
	c.add(events.Event{Type: events.HookExecuted.Type(), Data: json.RawMessage(`{"hook":"h","point":"no.such.point"}`)})
	f := c.result("acme", "r1")
	if len(f.Points) != 2 || f.Points[0].Fired != 1 || f.Points[0].Executions != 0 {
		t.Errorf("got %+v", f)
	}
}

func TestFired_HostileText(t *testing.T) {
	l := newTimeline(t)
	evil := "\x1b[2J\nforged\t\u202e"
	l.add(events.ToolBefore, "s", "c", events.ToolBeforeData{Tool: "T", Outcome: events.Outcome{
		Executions: []events.Execution{{Hook: evil, Name: evil, Error: evil}},
	}})
	c := newPointCounter()
	for _, e := range l.all {
		c.add(e)
	}
	var b bytes.Buffer
	c.result("acme", evil).write(&b, cli.Palette{})
	if got := b.String(); got != termtext.Printable(got) || strings.Contains(got, "\nforged") {
		t.Errorf("text of a hook moves the terminal:\n%q", got)
	}
}

//guarantee:one-reading
func TestFired_FormsOfDenials(t *testing.T) {
	c := newPointCounter()
	for _, form := range ledgertest.Denials() {
		c.add(form.Event("c"))
	}
	if p := c.points[events.ToolBefore]; p.Fired != len(ledgertest.Denials()) || p.Denied != p.Fired {
		t.Errorf("%d of %d denied", p.Denied, p.Fired)
	}
}
