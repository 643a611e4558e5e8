package outcomes

import (
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
	"github.com/hooktrail/hooktrail/internal/capture/ingest/gemini"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/openhands"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/sweagent"
	"github.com/hooktrail/hooktrail/internal/testkit/pythontest"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// outcome is what both readers say about a run.
type outcome struct {
	Status                                         events.RunStatus
	Calls, Failed, Denied, Interrupted, Unanswered int
	Cost                                           float64 // as the file states it; 0 if it does not
	Tokens                                         events.Tokens
}

type reader func(context.Context, io.Reader, ingest.Options) iter.Seq2[events.Event, error]

// The import and an independent reader agree on the calls, outcomes, end, tokens and stated cost of
// each recorded run of these formats.
func TestOutcomes_AgreeWithPython(t *testing.T) {
	python := pythontest.Find(t)
	for format, read := range map[string]reader{"gemini-cli": gemini.Events, "openhands": openhands.Events, "swe-agent": sweagent.Events} {
		files := recordings(t, format)
		if len(files) == 0 {
			t.Errorf("%s: no recordings", format)
		}
		for _, file := range files {
			t.Run(format+"/"+filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
				script := exec.CommandContext(t.Context(), python, "outcomes.py", format, file)
				script.Stderr = os.Stderr
				text, err := script.Output()
				if err != nil {
					t.Fatal(err)
				}
				var want outcome
				if err := json.Unmarshal(text, &want); err != nil {
					t.Fatal(err)
				}
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
		"gemini-cli": {"gemini-cli/entireio-cli/*/full.jsonl"},
		"openhands":  {"openhands/*/*.json"},
		"swe-agent":  {"mini-swe-agent/*.traj.json", "swe-agent/*.traj"},
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
	for e, err := range read(t.Context(), f, ingest.Options{Tenant: "acme", File: file, Now: time.Now}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind() != events.RunFinished {
			continue
		}
		d, err := events.Payload[events.RunFinishedData](e)
		if err != nil {
			t.Fatal(err)
		}
		o = outcome{
			Status: d.Status(), Calls: d.ToolCalls, Failed: d.ToolErrors, Denied: d.ToolDenied,
			Interrupted: d.ToolInterrupted, Unanswered: d.Unanswered,
		}
		if d.Cost != nil && !d.Cost.Estimated {
			o.Cost = d.Cost.USD
		}
		if d.TokensUsed != nil {
			o.Tokens = *d.TokensUsed
		}
	}
	return o
}
