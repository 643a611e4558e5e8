package agents_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// understood returns the kinds of each hook event in docs/agents.md, by agent and
// lower-case name.
func understood(t *testing.T) map[string]map[string][]events.Kind {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "agents.md"))
	if err != nil {
		t.Fatal(err)
	}
	columns := []string{"", "claude-code", "gemini-cli", "copilot-cli", "opencode"}
	rows := map[string]map[string][]events.Kind{}
	for _, column := range columns {
		rows[column] = map[string][]events.Kind{}
	}
	for line := range strings.Lines(string(doc)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != len(columns)+1 || strings.Contains(cells[1], "---") {
			continue
		}
		for i, column := range columns {
			for _, name := range words(cells[i]) {
				for _, kind := range words(cells[len(columns)]) {
					rows[column][strings.ToLower(name)] = append(rows[column][strings.ToLower(name)], events.Kind(kind))
				}
			}
		}
	}
	rows["codex"] = rows["claude-code"]
	return rows
}

func words(cell string) []string {
	var list []string
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			list = append(list, part)
		}
	}
	return list
}

// TestDocs_Understood checks the table in docs/agents.md against the captured
// payloads. Events without a row are custom.
func TestDocs_Understood(t *testing.T) {
	rows := understood(t)
	if n := len(rows["claude-code"]); n < 12 {
		t.Fatalf("the table in docs/agents.md tells of %d events of Claude Code", n)
	}
	for _, c := range captures {
		for _, p := range captured(t, c.dirs...) {
			name := strings.ToLower(strings.TrimPrefix(p.event, "event."))
			want := rows[c.tool][name]
			for _, e := range parse(t, c.tool, p.event, string(p.data)).Events {
				if want == nil && e.Kind() != events.Custom || want != nil && !slices.Contains(want, e.Kind()) {
					t.Errorf("%s: %s, docs/agents.md says %v", p.file, e.Kind(), want)
				}
			}
		}
	}
}
