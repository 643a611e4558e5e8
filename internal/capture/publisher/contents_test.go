package publisher

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const failedCall = `{"type":"user","sessionId":"s","uuid":"p","timestamp":"2026-01-01T00:00:00Z","message":{"content":"go"}}
{"type":"assistant","sessionId":"s","uuid":"a","parentUuid":"p","timestamp":"2026-01-01T00:00:01Z","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"make"}}]}}
{"type":"user","sessionId":"s","uuid":"r","parentUuid":"a","timestamp":"2026-01-01T00:00:02Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":"Exit code 1"}]}}
`

// An import sends a changed result under its old id, once. Neither the same content again nor a
// longer file, the old content or another version of the importer counts as a change.
//
//guarantee:import-changed
func TestImport_Changed(t *testing.T) {
	srv, b := open(t)
	name := filepath.Join(t.TempDir(), "s.jsonl")
	opts := ImportOptions{Broker: b, DataDir: t.TempDir(), Format: "claude-code", Paths: []string{name}}
	pending := failedCall[:strings.Index(failedCall, `{"type":"user","sessionId":"s","uuid":"r"`)]
	edited := strings.Replace(failedCall, `"is_error":true,"content":"Exit code 1"`, `"content":"ok"`, 1)
	importText := func(text, version string, wantChanged int) {
		t.Helper()
		writeText(t, name, text)
		opts.version = version
		sum, err := Import(t.Context(), opts)
		if err != nil || sum.Changed != wantChanged || sum.Files[0].Changed != wantChanged || sum.New+sum.Changed+sum.Known != sum.Events {
			t.Errorf("got %+v, %v, want %d changed", sum.Counts, err, wantChanged)
		}
	}
	importText(pending, "1", 0)
	importText(failedCall, "1", 0)
	importText(failedCall, "1", 0)
	importText(edited, "2", 0)
	importText(failedCall, "2", 1)
	importText(edited, "2", 0)
	importText(edited, "1", 1)
	importText(edited, "1", 0)
	importText(failedCall, "1", 0)
	results := map[string][]string{}
	for _, e := range srv.Events(t) {
		if e.Kind() == events.ToolResult {
			results[e.ID] = append(results[e.ID], string(e.Data))
		}
	}
	for id, list := range results {
		if len(results) != 1 || len(list) != 3 || !strings.Contains(list[0], `"error"`) || !strings.Contains(list[2], `"success"`) {
			t.Errorf("results of %s in the stream: got %q, want the failure and the success under one id", id, list)
		}
	}
}

// No snapshot of a recorded session changes an event of the one before.
//
//guarantee:import-changed
func TestImport_GrownIsNotChanged(t *testing.T) {
	_, b := open(t)
	dir := t.TempDir()
	names, err := filepath.Glob(filepath.Join(realdata.Path(t), "*", "*", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir()
	for part := 1; part <= 3; part++ {
		for _, name := range names {
			info, err := os.Stat(name)
			if err != nil || info.Size() > 200_000 || strings.Contains(name, "agentcmd") { // its short files are edited by hand
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.SplitAfter(string(text), "\n")
			writeText(t, filepath.Join(copied, strings.ReplaceAll(strings.TrimPrefix(name, realdata.Path(t)), "/", "_")), strings.Join(lines[:len(lines)*part/3], ""))
		}
		sum, err := Import(t.Context(), ImportOptions{Broker: b, DataDir: dir, Format: AutoFormat, Paths: []string{copied}})
		if err != nil || sum.Changed != 0 || sum.New == 0 {
			t.Errorf("part %d: got %+v, %v, want no changed event", part, sum.Counts, err)
		}
	}
}
