package outcomes

import (
	"bytes"
	stdcmp "cmp"
	"context"
	"encoding/json"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/amplifier"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/claude"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/codex"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/gemini"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/openhands"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/sweagent"
	"github.com/hooktrail/hooktrail/internal/testkit/pythontest"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// outcome is what both readers say about a run.
type outcome struct {
	Status                                         events.RunStatus // empty if runs of the file ended differently
	Calls, Failed, Denied, Interrupted, Unanswered int
	Cost                                           float64 // as the file states it; 0 if it does not
	Tokens                                         events.Tokens
}

type reader func(context.Context, io.Reader, ingest.Options) iter.Seq2[events.Event, error]

var readers = map[string]reader{
	"claude-code": claude.Events, "codex": codex.Events, "gemini-cli": gemini.Events, "openhands": openhands.Events,
	"swe-agent": sweagent.Events, "amplifier": amplifier.Events, "hook-log": agents.Log,
}

var recorded = map[string][]string{
	"claude-code": {"claude-code/*/*.jsonl", "claude-code/*/*/*.jsonl", "claude-code/*/*/*/*.jsonl"},
	"codex":       {"codex/*/raw/sessions/*.jsonl", "codex/*/exec-json-stream/*.jsonl"},
	"gemini-cli":  {"gemini-cli/entireio-cli/*/full.jsonl"},
	"openhands":   {"openhands/*/*.json"},
	"swe-agent":   {"mini-swe-agent/*.traj.json", "swe-agent/*.traj"},
	"amplifier":   {"orchestrators/amplifier/*.jsonl"},
	"hook-log":    {"hook-logs/*/*.json"},
}

// The import and an independent reader agree on the calls, outcomes, end, tokens and stated cost of
// each recorded run of these formats.
func TestOutcomes_AgreeWithPython(t *testing.T) {
	python := pythontest.Find(t)
	for format, read := range readers {
		files := recordings(t, format)
		if len(files) == 0 {
			t.Errorf("%s: no recordings", format)
		}
		script := exec.CommandContext(t.Context(), python, append([]string{"outcomes.py", format}, files...)...)
		script.Stderr = os.Stderr
		text, err := script.Output()
		if err != nil {
			t.Fatal(err)
		}
		wants := json.NewDecoder(bytes.NewReader(text))
		for _, file := range files {
			var want outcome
			if err := wants.Decode(&want); err != nil {
				t.Fatal(err)
			}
			t.Logf("%-11s %-11s %4d calls %3d failed %3d denied %3d interrupted %3d unanswered %8.4f $  %s",
				format, stdcmp.Or(string(want.Status), "various"), want.Calls, want.Failed, want.Denied, want.Interrupted, want.Unanswered, want.Cost, filepath.Base(file))
			t.Run(format+"/"+filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				if diff := cmp.Diff(want, imported(t, read, file), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
					t.Errorf("(-python +import):\n%s", diff)
				}
			})
		}
	}
}

func recordings(t *testing.T, format string) (files []string) {
	t.Helper()
	for _, pattern := range recorded[format] {
		found, err := filepath.Glob(filepath.Join(realdata.Path(t), pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	return files
}

func imported(t *testing.T, read reader, file string) (o outcome) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	runs, calls, open := 0, outcome{}, map[[2]string]bool{}
	for e, err := range read(t.Context(), f, ingest.Options{Tenant: "acme", File: file, Now: time.Now}) {
		if err != nil { // both readers skip damaged lines
			continue
		}
		switch e.Kind() {
		case events.ToolBefore:
			calls.Calls++
			open[[2]string{e.Run, e.ToolCall}] = true
		case events.ToolResult:
			delete(open, [2]string{e.Run, e.ToolCall})
			calls.add(payload[events.ToolResultData](t, e).Status)
		case events.RunFinished:
			runs++
			o.end(payload[events.RunFinishedData](t, e), runs == 1)
		}
	}
	calls.Unanswered = len(open)
	if o.Calls == 0 { // hooks do not count calls
		o.Calls, o.Failed, o.Denied, o.Interrupted, o.Unanswered = calls.Calls, calls.Failed, calls.Denied, calls.Interrupted, calls.Unanswered
	}
	calls.Status, calls.Cost, calls.Tokens = o.Status, o.Cost, o.Tokens
	if diff := cmp.Diff(o, calls); diff != "" {
		t.Errorf("run.finished and the events of calls differ (-run.finished +calls):\n%s", diff)
	}
	return o
}

func payload[T any](t *testing.T, e events.Event) T {
	t.Helper()
	d, err := events.Payload[T](e)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (o *outcome) add(result events.ToolStatus) {
	switch result {
	case events.ToolError:
		o.Failed++
	case events.ToolDenied:
		o.Denied++
	case events.ToolInterrupted:
		o.Interrupted++
	}
}

func (o *outcome) end(d events.RunFinishedData, first bool) {
	if first {
		o.Status = d.Status()
	} else if o.Status != d.Status() {
		o.Status = ""
	}
	o.Calls, o.Failed, o.Denied = o.Calls+d.ToolCalls, o.Failed+d.ToolErrors, o.Denied+d.ToolDenied
	o.Interrupted, o.Unanswered = o.Interrupted+d.ToolInterrupted, o.Unanswered+d.Unanswered
	if d.Cost != nil && !d.Cost.Estimated {
		o.Cost += d.Cost.USD
	}
	if d.TokensUsed != nil {
		o.Tokens = o.Tokens.Plus(*d.TokensUsed)
	}
}
