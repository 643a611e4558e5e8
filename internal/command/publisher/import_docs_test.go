package publisher

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/publisher"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

var (
	formatRow = regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|")
	docFlag   = regexp.MustCompile("--([a-z][a-z-]*)")
)

// docs/import.md lists the formats in the order of the help, and only existing flags.
func TestImportPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "import.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(publisher.FormatNames(), ", ")
	var got []string
	for _, row := range formatRow.FindAllSubmatch(page, -1) {
		got = append(got, string(row[1]))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("formats (-import +page):\n%s", diff)
	}
	others := []string{"json", "from", "to"} // flags of every command, or of other commands
	command := importCommand(&cli.Shared{})
	for _, flag := range docFlag.FindAllSubmatch(page, -1) {
		if name := string(flag[1]); command.Flag(name) == nil && !slices.Contains(others, name) {
			t.Errorf("import has no --%s", name)
		}
	}
}
