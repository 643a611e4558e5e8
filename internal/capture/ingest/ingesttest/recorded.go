package ingesttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
)

// Data returns the content of a file.
func Data(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// Recorded returns the paths of the recorded files that match the patterns. Each pattern must match
// a file.
func Recorded(tb testing.TB, patterns ...string) []string {
	tb.Helper()
	var all []string
	for _, pattern := range patterns {
		names, err := filepath.Glob(filepath.Join(realdata.Path(tb), filepath.FromSlash(pattern)))
		if err != nil || len(names) == 0 {
			tb.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		all = append(all, names...)
	}
	return all
}

// Oracle returns the expected import results for the recorded files of a tool, one row per file.
// The rows come from oracle-sessions.jsonl.
func Oracle[Row any](tb testing.TB, tool string) []Row {
	tb.Helper()
	var rows []Row
	for line := range bytes.Lines(Data(tb, realdata.Path(tb, "oracle-sessions.jsonl"))) {
		var of struct {
			File string `json:"file"`
		}
		var row Row
		if err := errors.Join(json.Unmarshal(line, &of), json.Unmarshal(line, &row)); err != nil {
			tb.Fatal(err)
		}
		if strings.HasPrefix(of.File, tool+"/") {
			rows = append(rows, row)
		}
	}
	return rows
}
