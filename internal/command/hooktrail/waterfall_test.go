package hooktrail

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/claude"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got), -update rewrites it:\n%s", name, diff)
	}
}

func recorded(t *testing.T) *runtree.Fold {
	t.Helper()
	fold := &runtree.Fold{Tenant: "default"}
	err := fs.WalkDir(os.DirFS("session"), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(filepath.Join("session", name))
		if err != nil {
			return err
		}
		defer f.Close()
		for e, err := range claude.Events(t.Context(), f, ingest.Options{File: name, Tenant: "default"}) {
			if err != nil {
				return err
			}
			fold.Add(e)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return fold
}

func TestWaterfall(t *testing.T) {
	fold := recorded(t)
	for _, run := range fold.Runs() {
		name := strings.ReplaceAll(run, "/", "_")
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			waterfall(&b, fold.Trace(run), cli.Palette{})
			golden(t, name+".waterfall", b.Bytes())
			data, err := json.MarshalIndent(fold.Trace(run), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".json", append(data, '\n'))
		})
	}
}

type timeline struct {
	t   *testing.T
	now time.Time
	all []events.Event
}

func (l *timeline) add(kind events.Kind, step, call string, payload any) {
	l.t.Helper()
	e, err := events.New(kind, "/engine", payload)
	if err != nil {
		l.t.Fatal(err)
	}
	l.now = l.now.Add(time.Second)
	e.Time, e.Tenant, e.Run, e.Step, e.ToolCall = l.now, "acme", "r1", step, call
	l.all = append(l.all, e)
}

func (l *timeline) trace() runtree.Trace {
	fold := runtree.Fold{Tenant: "acme"}
	for _, e := range l.all {
		fold.Add(e)
	}
	return fold.Trace("r1")
}

func newTimeline(t *testing.T) *timeline {
	t.Helper()
	return &timeline{t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func TestWaterfall_Denied(t *testing.T) {
	l := newTimeline(t)
	l.add(events.ToolBefore, "s", "c1", events.ToolBeforeData{
		Tool: "Bash", Outcome: events.Outcome{Verdict: events.VerdictDeny, Reason: "not on a Friday"},
	})
	var b bytes.Buffer
	waterfall(&b, l.trace(), cli.Palette{})
	if text := b.String(); !strings.Contains(text, "1 tool call, 1 denied ·") || strings.Count(text, "denied") != 2 || !strings.Contains(text, "not on a Friday") {
		t.Errorf("got\n%s", text)
	}
}

// A sub-agent without events is not offered as a command, and invented times are told.
func TestWaterfall_NotImported(t *testing.T) {
	l := newTimeline(t)
	l.add(events.ToolBefore, "s", "c1", events.ToolBeforeData{Tool: "Task", Common: events.Common{Untimed: true}})
	l.add(events.SubagentStart, "s", "c1", events.SubagentStartData{Subagent: "a1"})
	var b bytes.Buffer
	waterfall(&b, l.trace(), cli.Palette{})
	for _, want := range []string{"↳ sub-agent r1/a1, whose events are not in the ledger", "the source has no times for 1 event"} {
		if text := b.String(); !strings.Contains(text, want) || strings.Contains(text, "hooktrail run show") {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// A duration between a stated and an invented time is unknown.
func TestWaterfall_Untimed(t *testing.T) {
	l := newTimeline(t)
	l.add(events.ToolBefore, "s", "c1", events.ToolBeforeData{Tool: "Bash"})
	l.now = l.now.AddDate(0, 8, 0)
	l.add(events.ToolResult, "s", "c1", events.ToolResultData{Status: events.ToolSuccess, Common: events.Common{Untimed: true}})
	l.add(events.ToolBefore, "s", "c2", events.ToolBeforeData{Tool: "Read", Common: events.Common{Untimed: true}})
	text := l.waterfall()
	wantLines(t, text, "2026-01-02 03:04:06 UTC · – · open", strings.Repeat("·", barWidth)+"       –")
	if strings.Count(text, strings.Repeat("·", barWidth)+"       –\n") != 2 {
		t.Errorf("got\n%s", text)
	}
	var out bytes.Buffer
	writeRuns(&out, ledger.RunList{Runs: []ledger.RunSummary{
		{Run: "mixed", Started: l.all[0].Time, Ended: l.all[0].Time, Untimed: 2},
		{Run: "short", Started: l.all[0].Time, Ended: l.all[0].Time},
	}}, 0, nil)
	if list := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(list, "mixed 2026-01-02 03:04 –") || !strings.Contains(list, "short 2026-01-02 03:04 0ms") {
		t.Errorf("got\n%s", list)
	}
}

// The calls of a sub-agent are below the call that started it.
func TestWaterfall_Subagents(t *testing.T) {
	l := newTimeline(t)
	l.add(events.ToolBefore, "s", "c1", events.ToolBeforeData{Tool: "Task"})
	l.add(events.SubagentStart, "s", "c1", events.SubagentStartData{Subagent: "a1"})
	l.add(events.ToolBefore, "s", "c2", events.ToolBeforeData{Tool: "Bash", Args: []byte(`{"command":"ls"}`)})
	l.add(events.ToolResult, "s", "c2", events.ToolResultData{Tool: "Bash", Status: events.ToolSuccess, DurationMS: 7})
	for i := range l.all[2:] {
		l.all[2+i].Run, l.all[2+i].ParentRun = "r1/a1", "r1"
	}
	var b bytes.Buffer
	waterfall(&b, l.trace(), cli.Palette{})
	_, below, _ := strings.Cut(b.String(), "hooktrail run show r1/a1")
	if !strings.Contains(below, "✓ Bash         ls") || !strings.Contains(below, "7ms") {
		t.Errorf("got\n%s", b.String())
	}
}

func TestWaterfall_SubagentWithoutStart(t *testing.T) {
	l := newTimeline(t)
	l.add(events.SubagentStopped, "s", "", events.SubagentStoppedData{Subagent: "a1"})
	l.add(events.RunFinished, "", "", events.RunFinishedData{Success: true})
	l.all[1].Run, l.all[1].ParentRun = "r1/a1", "r1"
	var b bytes.Buffer
	waterfall(&b, l.trace(), cli.Palette{})
	if !strings.Contains(b.String(), "\nsub-agents that nothing tells the start of\n      ↳ hooktrail run show r1/a1 --tenant acme\n") {
		t.Errorf("got\n%s", b.String())
	}
}

//guarantee:text-hostile
func TestWaterfall_HostileText(t *testing.T) {
	evil := "\x1b[2J\nforged\u202e"
	l := newTimeline(t)
	l.add(events.PromptSubmit, evil, "", events.PromptSubmitData{Prompt: evil})
	l.add(events.ToolBefore, evil, evil, events.ToolBeforeData{Tool: evil, Args: json.RawMessage(`{"command":"\u001b[2J\u001b]0;x\u0007"}`)})
	l.add(events.SubagentStart, evil, evil, events.SubagentStartData{Subagent: evil})
	l.add(events.Error, evil, "", events.ErrorData{Error: events.Failure{Message: evil, Class: evil}})
	l.add(events.StepFinished, evil, "", events.StepFinishedData{StepStatus: events.StepFailed, Error: &events.Failure{Message: evil}})
	var b bytes.Buffer
	waterfall(&b, l.trace(), cli.Palette{})
	if got := b.String(); got != termtext.Printable(got) || strings.Contains(got, "\nforged") {
		t.Errorf("text of an agent moves the terminal:\n%q", got)
	}
}

// Any number of rows can name the same sub-agent. Its calls are written once.
func TestWaterfall_SubagentOfManyRows(t *testing.T) {
	child := runtree.Trace{Run: "r1/a", Steps: []*runtree.Step{{Rows: []*runtree.Row{{Kind: events.ToolBefore, Name: "Inner"}}}}}
	named := []*runtree.Row{{Kind: events.ToolBefore, Name: "Task", Run: "r1/a"}, {Kind: events.ToolBefore, Name: "Task", Run: "r1/a"}}
	var out bytes.Buffer
	waterfall(&out, runtree.Trace{Run: "r1", Children: []runtree.Trace{child}, Steps: []*runtree.Step{{Rows: named}}}, cli.Palette{})
	got := out.String()
	if strings.Count(got, "Inner") != 1 || strings.Count(got, "hooktrail run show r1/a") != 2 || strings.Contains(got, "nothing tells") {
		t.Errorf("got:\n%s", got)
	}
}
