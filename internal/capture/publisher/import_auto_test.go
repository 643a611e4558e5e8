package publisher

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
)

func told(f FileSummary) string {
	return fmt.Sprintf("%s %s: %d events, %d calls, %d failed, %d errors, %d bad",
		filepath.Base(f.File), f.Format, f.Events, f.ToolCalls, f.ToolErrors, f.Errors, f.Malformed)
}

// Files of the other recorded formats are detected, and imported only once.
func TestImport_AutoOfRecordedData(t *testing.T) {
	_, b := open(t)
	opts := ImportOptions{Broker: b, DataDir: t.TempDir(), Format: AutoFormat}
	for _, folder := range []string{"openhands", "mini-swe-agent", "orchestrators/amplifier", "hook-logs/ranaroussi-quantstats"} {
		opts.Paths = append(opts.Paths, realdata.Path(t, filepath.FromSlash(folder)))
	}
	sum, err := Import(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range sum.Files {
		got = append(got, told(f))
	}
	want := []string{
		"ponylang__ponyc-4588.json openhands: 203 events, 49 calls, 24 failed, 1 errors, 0 bad",
		"ponylang__ponyc-4595.json openhands: 97 events, 23 calls, 6 failed, 0 errors, 0 bad",
		"issue-1.json openhands: 18 events, 4 calls, 0 failed, 0 errors, 0 bad",
		"github_issue.traj.json swe-agent: 44 events, 10 calls, 2 failed, 0 errors, 0 bad",
		"amplifier.log.jsonl amplifier: 316 events, 0 calls, 0 failed, 0 errors, 0 bad",
		"post_tool_use.json hook-log: 29 events, 14 calls, 0 failed, 0 errors, 0 bad",
		"pre_tool_use.json hook-log: 21 events, 20 calls, 0 failed, 0 errors, 0 bad",
	}
	if diff := cmp.Diff(want, got); diff != "" || sum.New != sum.Events {
		t.Errorf("%d of %d events are new (-want +got):\n%s", sum.New, sum.Events, diff)
	}
	again, err := Import(t.Context(), opts)
	if err != nil || again.New != 0 || again.Events != sum.Events {
		t.Errorf("the second time %d of %d events are new, %v", again.New, again.Events, err)
	}
}

func TestImport_AutoOfOddFiles(t *testing.T) {
	const (
		resolved = `{"issue":{"owner":"o","repo":"r","number":5},"instruction":"i","history":[{"action":"message","content":"go"},{"action":"run","command":"ls"},{"observation":"run","content":"a","exit_code":1}],"error":null}`
		cloud    = `{"specversion":"1.0","id":"1","source":"s","type":"hooktrail.tool.before","time":"2026-01-01T00:00:00Z","runid":"r","toolcall":"c","data":{"tool":"Bash"}}`
	)
	tests := []struct{ name, file, text, want string }{
		{"Whole", "a.json", resolved, "a.json openhands: 7 events, 1 calls, 1 failed, 0 errors, 0 bad"},
		{"Spread", "a.json", strings.ReplaceAll(resolved, ",", ",\n  "), "a.json openhands: 7 events, 1 calls, 1 failed, 0 errors, 0 bad"},
		{"WithMark", "a.json", "\uFEFF" + resolved, "a.json openhands: 7 events, 1 calls, 1 failed, 0 errors, 0 bad"},
		{"Truncated", "a.json", resolved[:strings.Index(resolved, `{"observation"`)+9], "a.json openhands: 6 events, 1 calls, 0 failed, 0 errors, 1 bad"},
		{"FollowedByJunk", "a.json", resolved + "secret", "a.json openhands: 7 events, 1 calls, 1 failed, 0 errors, 1 bad"},
		{"Packed", "a.json.gz", zipped(resolved).String(), "a.json.gz openhands: 7 events, 1 calls, 1 failed, 0 errors, 0 bad"},
		{"PackedAndCut", "a.gz", zipped(strings.Repeat(cloud+"\n", 99)).String()[:60], ""},
		{"ListOfCloudEvents", "a.json", "[" + cloud + "]", "a.json cloudevents: 1 events, 1 calls, 0 failed, 0 errors, 0 bad"},
		{"CloudEventsWithABadOne", "a.jsonl", cloud + "\nsecret\n", "a.jsonl cloudevents: 1 events, 1 calls, 0 failed, 0 errors, 1 bad"},
		{"Empty", "a.jsonl", "", "a.jsonl : 0 events, 0 calls, 0 failed, 0 errors, 0 bad"},
		{"Blank", "a.jsonl", " \n\n", ""},
		{"Junk", "a.json", "secret \x00\x01", ""},
		{"OtherJSON", "a.json", `{"secret":[1,2]}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, b := open(t)
			name := filepath.Join(t.TempDir(), tt.file)
			writeText(t, name, tt.text)
			sum, err := Import(t.Context(), ImportOptions{Broker: b, DataDir: t.TempDir(), Format: AutoFormat, Paths: []string{name}})
			var got []string
			for _, f := range sum.Files {
				got = append(got, told(f))
			}
			if line := strings.Join(got, "\n"); tt.want != "" && (err != nil || line != tt.want) {
				t.Errorf("got %q, %v, want %s", line, err, tt.want)
			}
			if tt.want == "" && (err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "secret")) {
				t.Errorf("got %v, want it to name the file, and to quote nothing of it", err)
			}
		})
	}
}
