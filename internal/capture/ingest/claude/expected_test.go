package claude_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/claude"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// truth has the counts of a file: those that are expected, or those of its events.
type truth struct {
	Tools              map[string]int
	ToolErrors         int // also refusals and interrupts
	CallsWithoutResult int
	ResultsWithoutCall int
	APICalls, BadLines int
	Tokens             events.Tokens
}

type oracleRow struct {
	File       string         `json:"file"`
	BadLines   int            `json:"bad_lines"`
	Tools      map[string]int `json:"tool_calls_by_name"`
	ToolErrors int            `json:"tool_errors"`
	NoResult   int            `json:"calls_without_result"`
	NoCall     int            `json:"results_without_call"`
	First      string         `json:"first_ts"`
	Last       string         `json:"last_ts"`
	Tokens     struct {
		Input         int64 `json:"input_tokens"`
		Output        int64 `json:"output_tokens"`
		CacheCreation int64 `json:"cache_creation_input_tokens"`
		CacheRead     int64 `json:"cache_read_input_tokens"`
		APICalls      int   `json:"api_calls"`
	} `json:"tokens"`
}

func (r oracleRow) truth() truth {
	tools := r.Tools
	if tools == nil {
		tools = map[string]int{}
	}
	return truth{
		Tools: tools, ToolErrors: r.ToolErrors, CallsWithoutResult: r.NoResult, ResultsWithoutCall: r.NoCall,
		APICalls: r.Tokens.APICalls, BadLines: r.BadLines,
		Tokens: events.Tokens{
			Input: r.Tokens.Input, Output: r.Tokens.Output,
			CacheCreation: r.Tokens.CacheCreation, CacheRead: r.Tokens.CacheRead,
		},
	}
}

func fold(tb testing.TB, list []events.Event, bad int) truth {
	tb.Helper()
	got := truth{Tools: map[string]int{}, BadLines: bad}
	calls, results := map[string]bool{}, map[string]bool{}
	spent := map[string]events.Tokens{}
	for _, e := range list {
		switch e.Kind() {
		case events.ToolBefore:
			got.Tools[ingesttest.Payload[events.ToolBeforeData](tb, e).Tool]++
			calls[e.Run+"|"+e.ToolCall] = true
		case events.ToolResult:
			if ingesttest.Payload[events.ToolResultData](tb, e).Status != events.ToolSuccess {
				got.ToolErrors++
			}
			results[e.Run+"|"+e.ToolCall] = true
		case events.ResponseCompleted:
			p := ingesttest.Payload[events.ResponseCompletedData](tb, e)
			spent[p.Message] = *p.TokensUsed
		}
	}
	for id := range calls {
		if !results[id] {
			got.CallsWithoutResult++
		}
	}
	for id := range results {
		if !calls[id] {
			got.ResultsWithoutCall++
		}
	}
	for _, tokens := range spent {
		got.Tokens = got.Tokens.Plus(tokens)
	}
	got.APICalls = len(spent)
	return got
}

func read(tb testing.TB, name string, data []byte) (list []events.Event, bad []*ingest.LineError) {
	tb.Helper()
	return ingesttest.Read(tb, claude.Events, data, ingest.Options{File: name})
}

func readFile(tb testing.TB, name string) ([]events.Event, []*ingest.LineError) {
	tb.Helper()
	return ingesttest.ReadFile(tb, claude.Events, name)
}

func TestEvents_EqualsTheOracle(t *testing.T) {
	rows := ingesttest.Oracle[oracleRow](t, "claude-code")
	for _, row := range rows {
		t.Run(strings.TrimPrefix(row.File, "claude-code/"), func(t *testing.T) {
			list, bad := readFile(t, realdata.Path(t, filepath.FromSlash(row.File)))
			if diff := cmp.Diff(row.truth(), fold(t, list, len(bad))); diff != "" {
				t.Errorf("fold (-oracle +events):\n%s", diff)
			}
			checkAggregates(t, list)
			ingesttest.Check(t, list)
			checkTimes(t, row, list)
		})
	}
}

// checkAggregates checks that the last run.finished of each run and the last
// step.finished of each step agree with the other events.
func checkAggregates(t *testing.T, list []events.Event) {
	t.Helper()
	type sums struct {
		Calls, Errors, Unanswered, Steps int
		Tokens                           events.Tokens
	}
	stated, steps := map[string]sums{}, map[string]map[string]events.StepFinishedData{}
	byRun := map[string][]events.Event{}
	for _, e := range list {
		byRun[e.Run] = append(byRun[e.Run], e)
		switch e.Kind() {
		case events.RunFinished:
			p := ingesttest.Payload[events.RunFinishedData](t, e)
			stated[e.Run] = sums{p.ToolCalls, p.ToolErrors + p.ToolDenied + p.ToolInterrupted, p.Unanswered, p.Steps, known(p.TokensUsed)}
		case events.StepFinished:
			if steps[e.Run] == nil {
				steps[e.Run] = map[string]events.StepFinishedData{}
			}
			steps[e.Run][e.Step] = ingesttest.Payload[events.StepFinishedData](t, e)
		}
	}
	for run, of := range byRun {
		got := fold(t, of, 0)
		calls := 0
		for _, n := range got.Tools {
			calls += n
		}
		want := sums{calls, got.ToolErrors, got.CallsWithoutResult, len(steps[run]), got.Tokens}
		if diff := cmp.Diff(want, stated[run]); diff != "" {
			t.Errorf("run.finished of %s (-events +stated):\n%s", run, diff)
		}
		var inSteps sums
		for _, s := range steps[run] {
			inSteps.Calls += s.ToolCalls
			inSteps.Errors += s.ToolErrors + s.ToolDenied + s.ToolInterrupted
			inSteps.Tokens = inSteps.Tokens.Plus(known(s.TokensUsed))
		}
		if inSteps.Calls != want.Calls || inSteps.Errors != want.Errors || inSteps.Tokens != want.Tokens {
			t.Errorf("steps of %s: got %+v, want %+v", run, inSteps, want)
		}
	}
}

func checkTimes(t *testing.T, row oracleRow, list []events.Event) {
	t.Helper()
	var first, last time.Time
	for i, e := range list {
		if i == 0 || e.Time.Before(first) {
			first = e.Time
		}
		if e.Time.After(last) {
			last = e.Time
		}
	}
	const stamp = "2006-01-02T15:04:05.000Z"
	if got := first.Format(stamp); got != row.First {
		t.Errorf("first time: got %s, want %s", got, row.First)
	}
	if got := last.Format(stamp); got != row.Last {
		t.Errorf("last time: got %s, want %s", got, row.Last)
	}
}

func known(t *events.Tokens) events.Tokens {
	if t == nil {
		return events.Tokens{}
	}
	return *t
}
