package hooktrail

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func (l *timeline) waterfall() string {
	var b bytes.Buffer
	waterfall(&b, l.trace(), cli.Palette{})
	return b.String()
}

func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("it lacks %q:\n%s", line, text)
		}
	}
}

func TestWaterfall_WhoAndWhy(t *testing.T) {
	const tool = "mcp__playwright__browser_navigate"
	l := newTimeline(t)
	l.add(events.RunStarted, "", "", events.RunStartedData{Cwd: "/src/\x1b[2Japp", Metadata: map[string]any{"git_branch": "fix/ü"}})
	l.all[0].User = "alice"
	l.add(events.ToolBefore, "s", "c1", events.ToolBeforeData{Tool: tool, Outcome: events.Outcome{
		Verdict: events.VerdictDeny, Reason: "not on a Friday",
		Executions: []events.Execution{{Hook: "h1", Verdict: events.VerdictAllow}, {Hook: "h2", Name: "calendar", Verdict: events.VerdictDeny}},
	}})
	l.add(events.ToolBefore, "s", "c2", events.ToolBeforeData{Tool: "Bash"})
	exit := 127
	l.add(events.ToolResult, "s", "c2", events.ToolResultData{
		Status: events.ToolError, ExitCode: &exit, Error: &events.Failure{Message: "Exit code 127\n" + strings.Repeat("make: not found ", 40)},
	})
	l.add(events.ToolBefore, "s", "c3", events.ToolBeforeData{Tool: "Read"})
	l.add(events.ToolResult, "s", "c3", events.ToolResultData{Status: events.ToolError, Error: &events.Failure{Message: "no such file\x1b[2J"}})
	text := l.waterfall()
	wantLines(t, text, `by alice · in /src/\x1b[2Japp · branch fix/ü`, "      denied by hook calendar: not on a Friday", `      no such file\x1b[2J`)
	if !strings.Contains(text, "✗ "+tool+" ") || !strings.Contains(text, "      exit 127: make: not found make") || !strings.Contains(text, "tokens –") {
		t.Errorf("got:\n%s", text)
	}
	for line := range strings.Lines(text) {
		if n := termtext.Width(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}

// The end of a long error, which often tells the cause, is shown too.
func TestWaterfall_EndOfFailure(t *testing.T) {
	l := newTimeline(t)
	l.add(events.ToolBefore, "s", "c1", events.ToolBeforeData{Tool: "Bash"})
	l.add(events.ToolResult, "s", "c1", events.ToolResultData{Status: events.ToolError, Error: &events.Failure{
		Message: "lint starts\n" + strings.Repeat("日本語 is fine\n", 1000) + "5 issues: ireturn",
	}})
	if text := strings.Join(strings.Fields(l.waterfall()), " "); !strings.Contains(text, " lint starts ") || !strings.HasSuffix(text, " 5 issues: ireturn") {
		t.Errorf("got:\n%s", text)
	}
}

// A row says that hooks asked a person, unless it says who refused.
func TestWaterfall_Asked(t *testing.T) {
	l := newTimeline(t)
	ask := events.ToolBeforeData{Tool: "Bash", Outcome: events.Outcome{Verdict: events.VerdictAsk, Reason: "is it Friday?"}}
	l.add(events.ToolBefore, "s", "c1", ask)
	l.add(events.ToolBefore, "s", "c2", ask)
	l.add(events.ToolResult, "s", "c2", events.ToolResultData{Status: events.ToolDenied, DeniedBy: events.DeniedByUser})
	text := l.waterfall()
	wantLines(t, text, "      hooks asked a person: is it Friday?", "      refused by the user")
	if strings.Count(text, "asked a person") != 1 {
		t.Errorf("got:\n%s", text)
	}
}

// A step without a prompt has a name only if its id tells a person something.
func TestTitle_MadeUp(t *testing.T) {
	for _, id := range []string{
		"item-3", "7", "9-2", "turn-12", "message-4", "line-0123456789abcdef-2", "", "cc432c40-914a-4c1a-a972-0103199a736a",
		"chatcmpl-9aXyZ01234567", "msg_01ABCdefGHIjkl",
	} {
		p := page{prompt: "fix the tests"}
		if got := p.title(&runtree.Step{ID: id}); got != "… fix the tests" {
			t.Errorf("%s: got %q", id, got)
		}
		if got := p.title(&runtree.Step{ID: id, Output: "fixed"}); got != "fixed" {
			t.Errorf("%s: got %q", id, got)
		}
	}
	for _, id := range []string{"plan", "build-2", "dead", "s", "review-abc"} {
		if got := (page{}).title(&runtree.Step{ID: id}); got != id {
			t.Errorf("%s: got %q", id, got)
		}
	}
}

func TestWaterfall_Undecided(t *testing.T) {
	const note = "      no hook decided on this call, because the hook command got no answer"
	l := newTimeline(t)
	l.add(events.ToolBefore, "s", "c1", events.ToolBeforeData{Tool: "Bash"})
	l.add(events.Custom, "s", "c1", map[string]any{"name": events.HookProblem, "undecided": true})
	wantLines(t, l.waterfall(), note)
	l.add(events.ToolBefore, "s", "c1", events.ToolBeforeData{Tool: "Bash", Outcome: events.Outcome{Verdict: events.VerdictAllow}})
	if text := l.waterfall(); strings.Contains(text, note) {
		t.Errorf("a hook decided:\n%s", text)
	}
}

// A run that ended has no step that goes on, also if no event names a step.
func TestWaterfall_FinishedWithoutSteps(t *testing.T) {
	l := newTimeline(t)
	l.add(events.ToolBefore, "", "c1", events.ToolBeforeData{Tool: "Bash"})
	l.add(events.RunFinished, "", "", events.RunFinishedData{Success: true})
	if text := l.waterfall(); strings.Contains(text, "running") || !strings.Contains(text, "completed") {
		t.Errorf("got:\n%s", text)
	}
}

// An erased run neither failed nor goes on. What is left of it is shown.
func TestWaterfall_Erased(t *testing.T) {
	l := newTimeline(t)
	l.add(events.ToolBefore, "", "c1", events.ToolBeforeData{Tool: "Bash"})
	l.add(events.ToolResult, "", "c1", events.ToolResultData{Status: events.ToolSuccess})
	l.add(events.RunFinished, "", "", events.RunFinishedData{Success: true})
	for _, test := range []struct {
		name    string
		removed []int
		want    string
	}{
		{"All", []int{0, 1, 2}, "0 steps · 0 tool calls · tokens – · cost – · 3 events, 3 erased or pruned"},
		{"End", []int{2}, "1 step · 1 tool call · tokens – · cost – · 3 events, 1 erased or pruned"},
		{"Begin", []int{0}, "1 step · 0 tool calls · tokens – · cost – · 3 events, 1 erased or pruned"},
	} {
		t.Run(test.name, func(t *testing.T) {
			fold := runtree.Fold{Tenant: "acme"}
			for i, e := range l.all {
				if len(test.removed) > 0 && test.removed[0] == i {
					test.removed = test.removed[1:]
					fold.AddRemoved(events.Event{ID: e.ID, Type: e.Type, Time: e.Time, Run: e.Run}, "erased")
				} else {
					fold.Add(e)
				}
			}
			var b bytes.Buffer
			trace := fold.Trace("r1")
			waterfall(&b, trace, cli.Palette{})
			wantLines(t, b.String(), test.want)
			if isEnd := test.name != "Begin"; strings.Contains(b.String(), " · erased\n") != isEnd || strings.Contains(b.String(), "running") || trace.Finished == isEnd {
				t.Errorf("got:\n%s", b.String())
			}
		})
	}
}

func TestWrapped(t *testing.T) {
	word := strings.Repeat("日", 100)
	for _, line := range wrapped("a " + word + strings.Repeat(" and so on", 100)) {
		if n := termtext.Width(line); n > noteWidth {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	lines := wrapped("first " + strings.Repeat("word ", 500) + "last")
	if len(lines) != noteStart+1+noteEnd || !strings.HasPrefix(lines[0], "first ") || lines[noteStart] != "…" || !strings.HasSuffix(lines[noteStart+noteEnd], " last") {
		t.Errorf("got %q", lines)
	}
	if lines := wrapped(""); lines != nil {
		t.Errorf("got %q", lines)
	}
}
