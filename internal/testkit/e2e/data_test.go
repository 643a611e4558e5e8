package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
)

type oracle struct {
	File               string         `json:"file"`
	BadLines           int            `json:"bad_lines"`
	ToolCalls          int            `json:"tool_calls"`
	ToolCallsByName    map[string]int `json:"tool_calls_by_name"`
	CallsWithoutResult int            `json:"calls_without_result"`
	ToolErrors         int            `json:"tool_errors"`
	Tokens             struct {
		Input         int64 `json:"input_tokens"`
		Output        int64 `json:"output_tokens"`
		CacheCreation int64 `json:"cache_creation_input_tokens"`
		CacheRead     int64 `json:"cache_read_input_tokens"`
	} `json:"tokens"`
}

func oracles(t testing.TB) []oracle {
	t.Helper()
	f, err := os.Open(realdata.Path(t, "oracle-sessions.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []oracle
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var row struct{ File string }
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(row.File, "claude-code/") {
			continue // transcripts of other tools have other columns
		}
		var o oracle
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func tenantOf(o oracle) string {
	return strings.NewReplacer("claude-code/", "", "/full.jsonl", "", ".jsonl", "").Replace(o.File)
}

func path(t testing.TB, o oracle) string {
	t.Helper()
	return realdata.Path(t, o.File)
}
