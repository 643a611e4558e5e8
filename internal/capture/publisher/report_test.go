package publisher

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
)

func TestImport_Report(t *testing.T) {
	_, b := open(t)
	dir := realdata.Path(t)
	codex := filepath.Join(dir, "codex", "madshn-localpush", "raw", "sessions", "rollout-2026-02-23T13-19-38-019c8a70-dda7-7f33-98ea-f30553347322.jsonl")
	claude := filepath.Join(dir, "claude-code", "entireio-cli", "8c-fa910f8ef9-5", "full.jsonl")
	gemini := filepath.Join(dir, "gemini-cli", "entireio-cli", "ab-2b9748b105-0", "full.jsonl")
	empty := filepath.Join(dir, "gemini-cli", "integration-responses", "context-compress-interactive.compress-empty.responses")
	packed := filepath.Join(t.TempDir(), "full.jsonl.gz")
	text, err := os.ReadFile(gemini)
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, packed, zipped(string(text)).String())
	sum, err := Import(t.Context(), ImportOptions{
		Broker: b, DataDir: t.TempDir(), Paths: []string{claude, codex, gemini, packed, empty},
	})
	if err != nil {
		t.Fatal(err)
	}
	all := func(n int) Counts { return Counts{Events: n, New: n} }
	want := []FileSummary{
		{File: claude, Format: "claude-code", Counts: all(sum.Files[0].Events), Contents: Contents{ToolCalls: 58, ToolErrors: 1, ToolsDenied: 1}},
		{File: codex, Format: "codex", Counts: all(22), Contents: Contents{ToolCalls: 1}},
		{File: gemini, Format: "gemini-cli", Counts: all(55), Contents: Contents{ToolCalls: 9}},
		{File: packed, Format: "gemini-cli", Counts: Counts{Events: 55, Known: 55}, Contents: Contents{ToolCalls: 9}},
		{File: empty},
	}
	if diff := cmp.Diff(want, sum.Files); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
