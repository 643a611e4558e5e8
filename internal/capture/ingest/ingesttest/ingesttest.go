// Package ingesttest contains test helpers for transcript formats.
package ingesttest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Adapter is a function that reads the events of a transcript format, such as the function Events
// of package claude.
type Adapter func(context.Context, io.Reader, ingest.Options) iter.Seq2[events.Event, error]

// Read reads an input with an adapter. It returns the events and the errors about input lines.
func Read(tb testing.TB, read Adapter, data []byte, opts ingest.Options) (list []events.Event, bad []*ingest.LineError) {
	tb.Helper()
	if opts.Tenant == "" {
		opts.Tenant = "default"
	}
	for e, err := range read(tb.Context(), bytes.NewReader(data), opts) {
		report, isLine := errors.AsType[*ingest.LineError](err)
		switch {
		case isLine:
			bad = append(bad, report)
		case err != nil:
			tb.Fatalf("read %s: %v", opts.File, err)
		default:
			list = append(list, e)
		}
	}
	return list, bad
}

// ReadFile reads a file as [Read] does.
func ReadFile(tb testing.TB, read Adapter, name string) ([]events.Event, []*ingest.LineError) {
	tb.Helper()
	return Read(tb, read, Data(tb, name), ingest.Options{File: name})
}

// Payload decodes the payload of an event.
func Payload[T any](tb testing.TB, e events.Event) T {
	tb.Helper()
	p, err := events.Payload[T](e)
	if err != nil {
		tb.Fatalf("payload of %s: %v", e.Type, err)
	}
	return p
}

// Counts summarize the events of a file.
type Counts struct {
	Runs, Steps, Prompts, Calls, Results, Failed int // failed results
	Responses, Messages, Errors, Customs         int
	Subagents                                    int
	Denied, Interrupted                          int           // results with this status
	Tokens                                       events.Tokens // of response.completed; the latest of each message counts
	Bad                                          int
	Events                                       int
}

// Count counts the events by kind. If an event for the same step or message occurs several times,
// only the last one counts.
func Count(tb testing.TB, list []events.Event, bad []*ingest.LineError) Counts {
	tb.Helper()
	c := Counts{Bad: len(bad), Events: len(list)}
	spent, steps := map[string]events.Tokens{}, map[string]bool{}
	for _, e := range list {
		switch e.Kind() {
		case events.RunStarted:
			c.Runs++
		case events.StepFinished:
			steps[e.Run+"\x00"+e.Step] = true
		case events.PromptSubmit:
			c.Prompts++
		case events.ToolBefore:
			c.Calls++
		case events.ToolResult:
			c.Results++
			c.result(Payload[events.ToolResultData](tb, e).Status)
		case events.ResponseCompleted:
			p := Payload[events.ResponseCompletedData](tb, e)
			if p.TokensUsed != nil {
				spent[e.Run+"\x00"+p.Message] = *p.TokensUsed
			}
			c.Responses++
		case events.MessageCreated:
			c.Messages++
		case events.Error:
			c.Errors++
		case events.Custom:
			c.Customs++
		case events.SubagentStart:
			c.Subagents++
		}
	}
	c.Steps = len(steps)
	for _, tokens := range spent {
		c.Tokens = c.Tokens.Plus(tokens)
	}
	return c
}

func (c *Counts) result(status events.ToolStatus) {
	switch status {
	case events.ToolSuccess:
	case events.ToolError:
		c.Failed++
	case events.ToolDenied:
		c.Denied++
	case events.ToolInterrupted:
		c.Interrupted++
	}
}

// Tools returns the number of calls of each tool, and the number of results with each exit code.
func Tools(tb testing.TB, list []events.Event) (tools map[string]int, exits map[int]int) {
	tb.Helper()
	tools, exits = map[string]int{}, map[int]int{}
	for _, e := range list {
		switch e.Kind() {
		case events.ToolBefore:
			tools[Payload[events.ToolBeforeData](tb, e).Tool]++
		case events.ToolResult:
			if code := Payload[events.ToolResultData](tb, e).ExitCode; code != nil {
				exits[*code]++
			}
		}
	}
	return tools, exits
}

// Check verifies that the events are valid and have different ids, and that a call has at most one
// result. The last run.finished event of each run must have counts that match the other events.
func Check(tb testing.TB, list []events.Event) {
	tb.Helper()
	ids, calls := map[string]bool{}, map[string]bool{}
	byRun, finished := map[string][]events.Event{}, map[string]events.RunFinishedData{}
	for i, e := range list {
		if err := e.Validate(); err != nil {
			tb.Fatalf("event %d, %s: %v", i, e.Type, err)
		}
		if ids[e.ID] {
			tb.Fatalf("event %d, %s: id %s is not its own", i, e.Type, e.ID)
		}
		ids[e.ID] = true
		byRun[e.Run] = append(byRun[e.Run], e)
		switch k := e.Kind(); k {
		case events.ToolBefore, events.ToolResult:
			key := e.Run + "\x00" + e.ToolCall + "\x00" + string(k)
			if e.ToolCall == "" || calls[key] {
				tb.Fatalf("event %d, %s: call %q has one already, or no id", i, e.Type, e.ToolCall)
			}
			calls[key] = true
		case events.RunFinished:
			finished[e.Run] = Payload[events.RunFinishedData](tb, e)
			if p := finished[e.Run]; p.RunStatus == "" || p.Success != (p.RunStatus == events.RunCompleted) {
				tb.Errorf("run.finished of %s: run_status %q with success %t", e.Run, p.RunStatus, p.Success)
			}
		}
	}
	for run, said := range finished {
		got := Count(tb, byRun[run], nil)
		if said.TokensUsed == nil {
			said.TokensUsed = &events.Tokens{}
		}
		if got.Tokens == (events.Tokens{}) {
			got.Tokens = *said.TokensUsed // some tools have only the sum
		}
		want := Counts{
			Steps: said.Steps, Calls: said.ToolCalls, Failed: said.ToolErrors, Denied: said.ToolDenied, Interrupted: said.ToolInterrupted,
			Tokens: *said.TokensUsed,
		}
		got = Counts{Steps: got.Steps, Calls: got.Calls, Failed: got.Failed, Denied: got.Denied, Interrupted: got.Interrupted, Tokens: got.Tokens}
		if got != want {
			tb.Errorf("run.finished of %s: got %+v, its events say %+v", run, want, got)
		}
	}
}

// Grow imports several versions of a file, each longer than the version before. Together, the
// versions must give the same events as the longest version alone.
func Grow(tb testing.TB, read Adapter, file string, versions [][]byte) {
	tb.Helper()
	seen := map[string][]byte{}
	var merged []events.Event
	for i, data := range versions {
		for _, open := range []bool{true, false} {
			list, _ := Read(tb, read, data, ingest.Options{File: file, Open: open})
			for _, e := range list {
				if open && e.Kind() == events.RunFinished {
					tb.Fatalf("version %d is open, and run %s finished", i, e.Run)
				}
				if before, ok := seen[e.ID]; !ok {
					seen[e.ID] = e.Encode()
					merged = append(merged, e)
				} else if !bytes.Equal(before, e.Encode()) {
					tb.Fatalf("one id, two events:\n%s\n%s", before, e.Encode())
				}
			}
		}
	}
	alone, _ := Read(tb, read, versions[len(versions)-1], ingest.Options{File: file})
	wantPlain, wantLatest := split(tb, alone)
	gotPlain, gotLatest := split(tb, merged)
	if !slices.Equal(wantPlain, gotPlain) {
		tb.Errorf("events: got %d grown, want %d; the ids are\n%q, want\n%q", len(gotPlain), len(wantPlain), gotPlain, wantPlain)
	}
	if !maps.Equal(wantLatest, gotLatest) {
		tb.Errorf("latest aggregates: got %q grown, want %q", gotLatest, wantLatest)
	}
}

func split(tb testing.TB, list []events.Event) (plain []string, latest map[string]string) {
	tb.Helper()
	latest = map[string]string{}
	for _, e := range list {
		switch e.Kind() {
		case events.RunFinished, events.StepFinished:
			latest[string(e.Kind())+e.Run+e.Step] = e.ID
		case events.ResponseCompleted:
			latest[e.Run+Payload[events.ResponseCompletedData](tb, e).Message] = e.ID
		default:
			plain = append(plain, e.ID)
		}
	}
	return plain, latest
}

// Outcome returns the status, the exit code and the error class of a tool call as one text.
func Outcome(tb testing.TB, result events.Event) string {
	tb.Helper()
	p := Payload[events.ToolResultData](tb, result)
	said := string(p.Status)
	if p.DeniedBy != "" {
		said += " by " + string(p.DeniedBy)
	}
	if p.ExitCode != nil {
		said += " exit " + strconv.Itoa(*p.ExitCode)
	}
	if p.Error != nil && p.Error.Class != "" {
		said += " " + p.Error.Class
	}
	return said
}

// Compare reads data with an adapter and formats each event with brief. The formatted events must
// equal want. The errors about input lines must equal wantReports.
func Compare(t *testing.T, read Adapter, data string, brief func(testing.TB, events.Event) string, want, wantReports []string) {
	t.Helper()
	list, bad := Read(t, read, []byte(data), ingest.Options{File: "f"})
	Check(t, list)
	var got, reports []string
	for _, e := range list {
		got = append(got, brief(t, e))
	}
	for _, b := range bad {
		reports = append(reports, b.Error())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantReports, reports); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}

// Stable checks the events of an input. It then reads the input again and expects the same events.
// Use it in fuzz targets.
func Stable(tb testing.TB, read Adapter, data []byte) {
	tb.Helper()
	opts := ingest.Options{File: "fuzz"}
	first, reports := Read(tb, read, data, opts)
	Check(tb, first)
	second, again := Read(tb, read, data, opts)
	if len(first) != len(second) || len(reports) != len(again) {
		tb.Fatalf("got %d events and %d reports, then %d and %d", len(first), len(reports), len(second), len(again))
	}
	for i := range first {
		if !bytes.Equal(first[i].Encode(), second[i].Encode()) {
			tb.Fatalf("event %d differs:\n%s\n%s", i, first[i].Encode(), second[i].Encode())
		}
	}
}
