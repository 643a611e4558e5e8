package outcomes

import (
	"bytes"
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

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/claude"
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

// The import and an independent reader agree on the calls, outcomes, end, tokens and stated cost of
// each recorded run of these formats.
func TestOutcomes_AgreeWithPython(t *testing.T) {
	python := pythontest.Find(t)
	for format, read := range map[string]reader{"claude-code": claude.Events, "gemini-cli": gemini.Events, "openhands": openhands.Events, "swe-agent": sweagent.Events} {
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
	patterns := map[string][]string{
		"claude-code": {"claude-code/*/*.jsonl", "claude-code/*/*/*.jsonl", "claude-code/*/*/*/*.jsonl"},
		"gemini-cli":  {"gemini-cli/entireio-cli/*/full.jsonl"},
		"openhands":   {"openhands/*/*.json"},
		"swe-agent":   {"mini-swe-agent/*.traj.json", "swe-agent/*.traj"},
	}
	for _, pattern := range patterns[format] {
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
	runs := 0
	for e, err := range read(t.Context(), f, ingest.Options{Tenant: "acme", File: file, Now: time.Now}) {
		if err != nil || e.Kind() != events.RunFinished { // both readers skip damaged lines
			continue
		}
		d, err := events.Payload[events.RunFinishedData](e)
		if err != nil {
			t.Fatal(err)
		}
		if runs++; runs == 1 {
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
	return o
}
