package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDocs_Events(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "agents.md"))
	if err != nil {
		t.Fatal(err)
	}
	titles := map[string]string{"claude-code": "Claude Code", "codex": "Codex", "copilot-cli": "Copilot CLI", "gemini-cli": "Gemini CLI"}
	for _, tool := range tools {
		if tool.plugin {
			continue
		}
		row := "| " + titles[tool.name] + " | `" + strings.Join(tool.events, "` `") + "` |\n"
		if !strings.Contains(string(doc), row) {
			t.Errorf("docs/agents.md lacks the row\n%s", row)
		}
	}
}
