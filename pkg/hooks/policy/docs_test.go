package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDocs_Begins(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "hooks-policies.md"))
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(example), "func Example() {\n\t")
	body, printed, _ := strings.Cut(body, "\t// Output:\n")
	printed, _, _ = strings.Cut(printed, "}\n")
	want := "# Hook policies\n\n```go\n" + strings.ReplaceAll(body, "\n\t", "\n") +
		"```\n\nIt prints\n\n```text\n" + strings.ReplaceAll(printed, "\t// ", "") + "```\n"
	have := string(doc[:min(len(want), len(doc))])
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("the beginning of the page (-example +page):\n%s", diff)
	}
}
