package gemini_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/gemini"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type counts = ingesttest.Counts

func tokens(input, cached, output int64) events.Tokens {
	return events.Tokens{Input: input, CacheRead: cached, Output: output}
}

func TestEvents_Counts(t *testing.T) {
	want := map[string]counts{
		"12-cbfeaa512b-0": {Runs: 1, Steps: 2, Prompts: 2, Calls: 2, Results: 2, Responses: 4, Messages: 6, Tokens: tokens(13635, 35330, 302), Events: 21},
		"51-3fab7adf0b-0": {Runs: 1, Steps: 1, Prompts: 1, Calls: 1, Results: 1, Responses: 2, Messages: 4, Tokens: tokens(12341, 11835, 153), Events: 13},
		"ab-2b9748b105-0": {Runs: 1, Steps: 1, Prompts: 1, Calls: 9, Results: 9, Responses: 11, Messages: 21, Tokens: tokens(17521, 113854, 1812), Events: 55},
	}
	got := map[string]counts{}
	for _, name := range ingesttest.Recorded(t, "gemini-cli/*/*/full.jsonl") {
		list, bad := ingesttest.ReadFile(t, gemini.Events, name)
		ingesttest.Check(t, list)
		got[filepath.Base(filepath.Dir(name))] = ingesttest.Count(t, list, bad)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

var answers = map[string]struct {
	Answers, Calls, Messages int
	Tokens                   events.Tokens
}{
	"browser-policy":                {5, 4, 2, tokens(600, 0, 250)},
	"concurrency-limit":             {12, 11, 11, tokens(1100, 0, 550)},
	"json-output.error":             {2, 1, 2, tokens(24891, 0, 225)},
	"json-output.france":            {1, 0, 1, tokens(7, 0, 7)},
	"json-output.session-id":        {1, 0, 1, tokens(5, 0, 9)},
	"policy-headless-readonly":      {2, 1, 2, tokens(10022, 6082, 169)},
	"policy-headless-shell-allowed": {2, 1, 2, tokens(10047, 6082, 200)},
	"policy-headless-shell-denied":  {2, 1, 3, tokens(10093, 6082, 285)},
	"shell-background":              {5, 3, 5, tokens(0, 0, 0)},
	"user-policy":                   {2, 1, 2, tokens(0, 0, 0)},

	"context-compress-interactive.compress":         {4, 0, 5, tokens(15127, 11883, 1116)},
	"context-compress-interactive.compress-empty":   {},
	"context-compress-interactive.compress-failure": {3, 0, 4, tokens(14236, 0, 1379)},

	"hooks-system.after-agent":           {3, 0, 3, tokens(0, 0, 0)},
	"hooks-system.after-model":           {1, 0, 2, tokens(12777, 0, 25)},
	"hooks-system.after-tool-context":    {2, 1, 2, tokens(13468, 12206, 80)},
	"hooks-system.allow-tool":            {4, 1, 3, tokens(14939, 36604, 156)},
	"hooks-system.before-agent":          {1, 0, 2, tokens(12795, 0, 64)},
	"hooks-system.before-model":          {1, 0, 2, tokens(12419, 0, 27)},
	"hooks-system.before-tool-selection": {2, 1, 2, tokens(1006, 11797, 195)},
	"hooks-system.before-tool-stop":      {1, 1, 1, tokens(13216, 0, 74)},
	"hooks-system.block-tool":            {2, 1, 3, tokens(25665, 0, 148)},
	"hooks-system.compress-auto":         {1, 0, 2, tokens(12587, 0, 32)},
	"hooks-system.disabled-via-command":  {4, 2, 4, tokens(2648, 48812, 154)},
	"hooks-system.disabled-via-settings": {2, 1, 2, tokens(1324, 24406, 73)},
	"hooks-system.error-handling":        {2, 1, 2, tokens(13534, 12203, 95)},
	"hooks-system.input-modification":    {2, 1, 1, tokens(0, 0, 0)},
	"hooks-system.input-validation":      {2, 1, 3, tokens(13515, 12203, 113)},
	"hooks-system.multiple-events":       {4, 1, 5, tokens(14446, 36607, 346)},
	"hooks-system.notification":          {1, 1, 1, tokens(12751, 0, 78)},
	"hooks-system.sequential-execution":  {1, 0, 2, tokens(12604, 0, 51)},
	"hooks-system.session-clear":         {1, 0, 2, tokens(12761, 0, 41)},
	"hooks-system.session-startup":       {1, 0, 2, tokens(12588, 0, 19)},
	"hooks-system.tail-tool-call":        {2, 1, 1, tokens(0, 0, 0)},
	"hooks-system.telemetry":             {2, 1, 2, tokens(1324, 24406, 97)},
}

func TestEvents_Answers(t *testing.T) {
	names := ingesttest.Recorded(t, "gemini-cli/integration-responses/*.responses")
	if len(names) != len(answers) {
		t.Errorf("got %d files, want %d", len(names), len(answers))
	}
	for _, name := range names {
		short := strings.TrimSuffix(filepath.Base(name), ".responses")
		a := answers[short]
		want := counts{Steps: a.Answers, Responses: a.Answers, Calls: a.Calls, Messages: a.Messages, Tokens: a.Tokens}
		if a.Answers > 0 {
			want.Runs, want.Events = 1, 2+2*a.Answers+a.Calls+a.Messages
		}
		list, bad := ingesttest.ReadFile(t, gemini.Events, name)
		ingesttest.Check(t, list)
		if diff := cmp.Diff(want, ingesttest.Count(t, list, bad)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", short, diff)
		}
	}
}

// A growing chat gives the same events as the whole chat, as a document and as lines.
func TestEvents_Grow(t *testing.T) {
	for _, name := range ingesttest.Recorded(t, "gemini-cli/*/*/full.jsonl") {
		data := ingesttest.Data(t, name)
		begin, list, ok := strings.Cut(string(data), `"messages": [`)
		if !ok {
			t.Fatalf("%s: no messages", name)
		}
		var versions [][]byte
		messages := strings.SplitAfter(list, "\n    },")
		for n := 1; n < len(messages); n++ {
			some := strings.TrimSuffix(strings.Join(messages[:n], ""), ",")
			versions = append(versions, []byte(begin+`"messages": [`+some+"]}"))
		}
		t.Run(filepath.Base(filepath.Dir(name)), func(t *testing.T) {
			ingesttest.Grow(t, gemini.Events, name, append(versions, data))
		})
	}
	t.Run("Lines", func(t *testing.T) {
		var versions [][]byte
		for n := range samples["Lines"] {
			versions = append(versions, []byte(strings.Join(samples["Lines"][:n+1], "\n")+"\n"))
		}
		ingesttest.Grow(t, gemini.Events, "f.jsonl", versions)
	})
}

func TestDetect(t *testing.T) {
	for _, name := range ingesttest.Recorded(t, "gemini-cli/*/*/full.jsonl", "gemini-cli/integration-responses/*.responses") {
		data := ingesttest.Data(t, name)
		if got := gemini.Detect(data[:min(len(data), ingest.HeadBytes)], name); got != (len(data) > 0) {
			t.Errorf("%s: got %v", name, got)
		}
	}
	for _, head := range []string{
		"", "{", "[]", `{"type":"user","sessionId":"s"}`, `{"messages":[{"role":"user"}]}`, `{"session_id":"s"}`,
		`{"method":"x"}`,
	} {
		if gemini.Detect([]byte(head), "x.json") {
			t.Errorf("%s is taken for one of Gemini CLI", head)
		}
	}
}

func FuzzEvents(f *testing.F) {
	for _, lines := range samples {
		f.Add([]byte(strings.Join(lines, "\n")))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		gemini.Detect(data, "f.json")
		ingesttest.Stable(t, gemini.Events, data)
	})
}
