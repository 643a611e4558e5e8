package publisher

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

var (
	formatRow = regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|")
	docFlag   = regexp.MustCompile("--([a-z][a-z-]*)")
)

// The page on import lists the formats that there are, in the order of help, and
// names no flag that import does not have.
func TestImportPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "import.md"))
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, f := range formats {
		want = append(want, f.name)
	}
	for _, row := range formatRow.FindAllSubmatch(page, -1) {
		got = append(got, string(row[1]))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("formats (-import +page):\n%s", diff)
	}
	others := []string{"json"} // of every command, or of another program's
	command := importCommand(&cli.Shared{})
	for _, flag := range docFlag.FindAllSubmatch(page, -1) {
		if name := string(flag[1]); command.Flag(name) == nil && !slices.Contains(others, name) {
			t.Errorf("import has no --%s", name)
		}
	}
}
