package tracker

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
)

var (
	docExample = regexp.MustCompile("(?s)```json\n(\\{\"specversion\".*?)```\n\n```text\n(.*?)```")
	docWhy     = regexp.MustCompile("(?s)```console\n\\$ tracker why (\\S+) --events history.jsonl\n(.*?)```")
	docCommand = regexp.MustCompile(`(?s)echo '(\{.*?\})' \|\s+tracker whatif --events -`)
)

// The examples in docs/tracker.md show the output of whatif.
func TestDocs_Examples(t *testing.T) {
	doc := rulestest.ReadFile(t, filepath.Join("..", "..", "..", "docs", "tracker.md"))
	examples := docExample.FindAllStringSubmatch(doc, -1)
	if len(examples) < 10 {
		t.Fatalf("got %d examples", len(examples))
	}
	for _, example := range examples {
		status, stdout, stderr := call(t, t.TempDir(), "whatif", "--events", rulestest.WriteFile(t, "history.jsonl", example[1]))
		if status != cli.ExitOK || !strings.HasPrefix(stdout, example[2]) {
			t.Errorf("exit status %d, %s; of\n%sit prints\n%sinstead of\n%s", status, stderr, example[1], stdout, example[2])
		}
	}
	first := docCommand.FindStringSubmatch(doc)
	if first == nil {
		t.Fatal("the document does not begin with a command")
	}
	if status, stdout, stderr := call(t, t.TempDir(), "whatif", "--events", rulestest.WriteFile(t, "one.jsonl", first[1])); status != cli.ExitOK ||
		!strings.Contains(stdout, "1 issue: 1 open") {
		t.Errorf("exit status %d, %q, %s", status, stdout, stderr)
	}
}

// The explanations in docs/tracker.md show the output of why. Each is about an event of the nearest
// example above it.
func TestDocs_Why(t *testing.T) {
	doc := rulestest.ReadFile(t, filepath.Join("..", "..", "..", "docs", "tracker.md"))
	shown := docWhy.FindAllStringSubmatchIndex(doc, -1)
	if len(shown) != 2 {
		t.Fatalf("got %d explanations", len(shown))
	}
	for _, at := range shown {
		above := docExample.FindAllStringSubmatch(doc[:at[0]], -1)
		history := rulestest.WriteFile(t, "history.jsonl", above[len(above)-1][1])
		event, want := doc[at[2]:at[3]], strings.Join(strings.Fields(doc[at[4]:at[5]]), " ")
		status, stdout, stderr := call(t, t.TempDir(), "why", event, "--events", history)
		if status != cli.ExitOK || !strings.HasPrefix(stdout, want) {
			t.Errorf("%s: exit status %d, %s; it prints\n%sinstead of\n%s", event, status, stderr, stdout, want)
		}
	}
}
