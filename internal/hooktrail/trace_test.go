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

	"github.com/hooktrail/hooktrail/internal/cli"
	"github.com/hooktrail/hooktrail/internal/ingest"
	"github.com/hooktrail/hooktrail/internal/ingest/claude"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with testdata/name.
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

// recorded returns the traces of the built-in session, by run.
func recorded(t *testing.T) map[string]*tracer {
	t.Helper()
	traces := map[string]*tracer{}
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
			if traces[e.Run] == nil {
				traces[e.Run] = newTracer("default", e.Run)
			}
			traces[e.Run].add(e)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return traces
}

func TestWaterfall(t *testing.T) {
	for run, tracer := range recorded(t) {
		name := strings.ReplaceAll(run, "/", "_")
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			waterfall(&b, tracer.result(), cli.Palette{})
			golden(t, name+".waterfall", b.Bytes())
			data, err := json.MarshalIndent(tracer.result(), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".json", append(data, '\n'))
		})
	}
}

// timeline builds events of one run, a second apart.
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

func (l *timeline) trace() Trace {
	tr := newTracer("acme", "r1")
	for _, e := range l.all {
		tr.add(e)
	}
	return tr.result()
}

func newTimeline(t *testing.T) *timeline {
	t.Helper()
	return &timeline{t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func TestTracer_CallsAndResults(t *testing.T) {
	l := newTimeline(t)
	l.add(events.ToolBefore, "s", "c1", events.ToolBeforeData{Tool: "Bash", Args: json.RawMessage(`{"command":"ls"}`)})
	l.add(events.ToolBefore, "s", "c2", events.ToolBeforeData{Tool: "Bash"})
	l.add(events.ToolResult, "s", "c1", events.ToolResultData{Tool: "Bash", Status: events.ToolSuccess})
	l.add(events.ToolResult, "s", "c9", events.ToolResultData{Tool: "Read", Status: events.ToolError, DurationMS: 5})
	got := l.trace()
	if got.ToolCalls != 2 || got.Unanswered != 1 || got.ToolErrors != 1 || len(got.Steps) != 1 {
		t.Fatalf("got %d calls, %d unanswered, %d errors, %d steps", got.ToolCalls, got.Unanswered, got.ToolErrors, len(got.Steps))
	}
	rows := got.Steps[0].Rows
	if len(rows) != 3 || rows[0].DurationMS != 2000 || rows[0].Detail != "ls" || rows[1].Status != "" || rows[2].Name != "Read" {
		t.Errorf("got rows %+v", rows)
	}
}

func TestTracer_DeniedCalls(t *testing.T) {
	l := newTimeline(t)
	ask := func(call string, answer events.Verdict) {
		l.add(events.ToolBefore, "s", call, events.ToolBeforeData{Tool: "Bash", Outcome: events.Outcome{Verdict: events.VerdictAsk}})
		l.add(events.Approval, "s", call, events.ApprovalData{Tool: "Bash", Outcome: events.Outcome{Verdict: answer}})
	}
	l.add(events.ToolBefore, "s", "c1", events.ToolBeforeData{Tool: "Bash", Outcome: events.Outcome{Verdict: events.VerdictDeny}})
	ask("c2", events.VerdictNone)
	ask("c3", events.VerdictAllow)
	l.add(events.ToolResult, "s", "c3", events.ToolResultData{Tool: "Bash", Status: events.ToolSuccess})
	l.add(events.Approval, "s", "c9", events.ApprovalData{})
	got := l.trace()
	if got.ToolCalls != 3 || got.Unanswered != 0 {
		t.Errorf("got %d calls, %d unanswered", got.ToolCalls, got.Unanswered)
	}
	var b bytes.Buffer
	waterfall(&b, got, cli.Palette{})
	if n := strings.Count(b.String(), "denied"); n != 2 {
		t.Errorf("shown as denied %d times:\n%s", n, b.String())
	}
}

func TestTracer_LatestAggregateCounts(t *testing.T) {
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

func TestTracer_GoingOn(t *testing.T) {
	l := newTimeline(t)
	l.add(events.PromptSubmit, "s", "", events.PromptSubmitData{Prompt: "hello"})
	l.add(events.StepFinished, "s", "", events.StepFinishedData{StepStatus: events.StepCompleted, TokensUsed: &events.Tokens{Output: 3}})
	l.add(events.ToolBefore, "t", "c", events.ToolBeforeData{Tool: "Bash"})
	got := l.trace()
	if got.Finished || got.Tokens.Output != 3 || got.Steps[1].Status != events.StepRunning {
		t.Errorf("got finished %v, tokens %+v, status %s", got.Finished, got.Tokens, got.Steps[1].Status)
	}
}

func TestTracer_BrokenPayload(t *testing.T) {
	tr := newTracer("acme", "r1")
	for kind := range folds {
		tr.add(events.Event{Type: kind.Type(), Run: "r1", Data: json.RawMessage(`[1]`)})
	}
	var b bytes.Buffer
	waterfall(&b, tr.result(), cli.Palette{}) // shows what is there
	if got := tr.result().Events; got != len(folds) {
		t.Errorf("got %d events, want %d", got, len(folds))
	}
}

func TestWaterfall_HostileText(t *testing.T) {
	l := newTimeline(t)
	evil := "\x1b[2J\nforged\u202e"
	l.add(events.PromptSubmit, evil, "", events.PromptSubmitData{Prompt: evil})
	l.add(events.ToolBefore, evil, evil, events.ToolBeforeData{Tool: evil, Args: json.RawMessage(`{"command":"\u001b[2J\u001b]0;x\u0007"}`)})
	l.add(events.SubagentStart, evil, evil, events.SubagentStartData{Subagent: evil})
	l.add(events.Error, evil, "", events.ErrorData{Error: events.Failure{Message: evil, Class: evil}})
	l.add(events.StepFinished, evil, "", events.StepFinishedData{StepStatus: events.StepFailed, Error: &events.Failure{Message: evil}})
	var b bytes.Buffer
	waterfall(&b, l.trace(), cli.Palette{})
	if got := b.String(); got != cli.Printable(got) || strings.Contains(got, "\nforged") {
		t.Errorf("text of an agent moves the terminal:\n%q", got)
	}
}
