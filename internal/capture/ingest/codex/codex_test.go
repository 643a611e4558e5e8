package codex_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/codex"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestEvents_Counts(t *testing.T) {
	type counts = ingesttest.Counts
	tokens := func(input, cached, output int64) events.Tokens {
		return events.Tokens{Input: input - cached, CacheRead: cached, Output: output}
	}
	want := map[string]counts{
		"rollout-2026-02-23T12-40-23-019c8a4c-ed82-79a1-aa28-7738fc5ab61a": {Runs: 1, Steps: 5, Prompts: 5, Calls: 105, Results: 105, Responses: 81, Messages: 132, Customs: 274, Tokens: tokens(7204025, 6836352, 36075), Events: 710},
		"rollout-2026-02-23T12-41-04-019c8a4d-8f45-7010-8b5d-7fad920aa6f9": {Runs: 1, Steps: 1, Prompts: 1, Calls: 118, Results: 118, Responses: 28, Messages: 50, Customs: 101, Tokens: tokens(1751428, 1651968, 14600), Events: 420},
		"rollout-2026-02-23T12-54-34-019c8a59-e9dd-71f0-9ae3-4079fe9726a9": {Runs: 1, Steps: 33, Prompts: 38, Calls: 372, Results: 372, Responses: 286, Messages: 565, Customs: 1094, Tokens: tokens(33810485, 31621504, 133999), Events: 2764},
		"rollout-2026-02-23T13-19-38-019c8a70-dda7-7f33-98ea-f30553347322": {Runs: 1, Steps: 1, Prompts: 1, Calls: 1, Responses: 1, Messages: 10, Customs: 5, Tokens: tokens(34469, 3456, 431), Events: 22},

		"stream-output-1":       {Runs: 1, Steps: 1, Responses: 1, Messages: 2, Tokens: tokens(2946, 0, 7), Events: 7},
		"stream-output-2":       {Runs: 1, Steps: 1, Calls: 1, Results: 1, Responses: 1, Messages: 2, Tokens: tokens(6040, 4992, 129), Events: 9},
		"stream-output-3":       {Runs: 1, Steps: 1, Calls: 1, Results: 1, Responses: 1, Messages: 2, Tokens: tokens(6008, 4096, 51), Events: 9},
		"stream-output-4":       {Runs: 1, Steps: 1, Calls: 1, Results: 1, Responses: 1, Messages: 3, Tokens: tokens(6087, 5120, 204), Events: 10},
		"stream-output-5":       {Runs: 1, Steps: 1, Calls: 1, Results: 1, Responses: 1, Messages: 3, Tokens: tokens(6086, 2944, 223), Events: 10},
		"stream-output-multi-1": {Runs: 1, Steps: 1, Events: 4},
	}
	got := map[string]counts{}
	for _, name := range recorded(t) {
		list, bad := ingesttest.ReadFile(t, codex.Events, name)
		ingesttest.Check(t, list)
		got[strings.TrimSuffix(filepath.Base(name), ".jsonl")] = ingesttest.Count(t, list, bad)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func recorded(tb testing.TB) []string {
	tb.Helper()
	return ingesttest.Recorded(tb, "codex/*/raw/sessions/*.jsonl", "codex/*/exec-json-stream/*.jsonl")
}

// The events agree with the recorded oracle. It has no web searches, because they have
// no call id.
func TestEvents_EqualTheOracle(t *testing.T) {
	type row struct {
		File     string         `json:"file"`
		Sessions []string       `json:"session_ids"`
		Tools    map[string]int `json:"tool_calls_by_name"`
		NoResult int            `json:"calls_without_result"`
		First    string         `json:"first_ts"`
		Last     string         `json:"last_ts"`
	}
	rows := ingesttest.Oracle[row](t, "codex")
	if len(rows) != 4 {
		t.Errorf("got %d rows of Codex, want 4", len(rows))
	}
	for _, want := range rows {
		list, _ := ingesttest.ReadFile(t, codex.Events, realdata.Path(t, filepath.FromSlash(want.File)))
		const stamp = "2006-01-02T15:04:05.000Z"
		got := row{
			File: want.File, Sessions: []string{list[0].Session},
			First: list[0].Time.Format(stamp), Last: list[len(list)-1].Time.Format(stamp),
			NoResult: ingesttest.Payload[events.RunFinishedData](t, list[len(list)-1]).Unanswered,
		}
		got.Tools, _ = ingesttest.Tools(t, list)
		delete(got.Tools, "web_search")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-oracle +events):\n%s", diff)
		}
	}
}

// A growing session, cut at any place, gives the same events as the whole session.
func TestEvents_Grow(t *testing.T) {
	for _, name := range recorded(t) {
		data := ingesttest.Data(t, name)
		lines := bytes.SplitAfter(data, []byte("\n"))
		var versions [][]byte
		for n := 1; n < len(lines); n += max(1, len(lines)/7) {
			cut := append(bytes.Join(lines[:n], nil), lines[n][:len(lines[n])/2]...) // in the middle of a line
			versions = append(versions, cut)
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			ingesttest.Grow(t, codex.Events, name, append(versions, data))
		})
	}
}

func TestDetect(t *testing.T) {
	for _, name := range recorded(t) {
		data := ingesttest.Data(t, name)
		if !codex.Detect(data[:min(len(data), ingest.HeadBytes)], name) {
			t.Errorf("%s is not known as one of Codex", name)
		}
	}
	for _, head := range []string{
		"", "{", "[]", `{"type":"user","sessionId":"s"}`, `{"type":"message","id":"x"}`, `{"type":"event_msg"}`,
		`{"sessionId":"s","projectHash":"h","messages":[]}`,
	} {
		if codex.Detect([]byte(head), "events.jsonl") {
			t.Errorf("%s is taken for one of Codex", head)
		}
	}
}

func FuzzEvents(f *testing.F) {
	for _, lines := range samples {
		f.Add([]byte(strings.Join(lines, "\n")))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		codex.Detect(data, "f.jsonl")
		ingesttest.Stable(t, codex.Events, data)
	})
}
