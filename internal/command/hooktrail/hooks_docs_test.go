package hooktrail

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile"
)

var (
	fence = regexp.MustCompile("(?ms)^```([a-z]+)(?: (\\S+))?\n(.*?)^```$")
	took  = regexp.MustCompile(`\d+(\.\d+)?(µs|ms|s)`)
)

// The commands in docs/hooks-yaml.md print the text below them, and each hooks.yaml there is valid.
func TestHooksYAMLDoc(t *testing.T) {
	doc := readDoc(t, "docs/hooks-yaml.md")
	if !strings.HasPrefix(doc, "# hooks.yaml\n\n```yaml hooks.yaml\n") {
		t.Error("the document does not begin with its example")
	}
	for _, variable := range []string{"HOOKTRAIL_HOOKS", "HOOKTRAIL_JSON", "HOOKTRAIL_TENANT", "HOOKTRAIL_EVENT"} {
		t.Setenv(variable, "")
	}
	t.Chdir(t.TempDir())
	commands := 0
	for _, block := range fence.FindAllStringSubmatch(doc, -1) {
		language, name, text := block[1], block[2], block[3]
		if name != "" {
			if err := os.WriteFile(filepath.Clean(name), []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		switch {
		case language == "yaml" && name != "wrong.yaml":
			if f, err := hookfile.Parse("docs/hooks-yaml.md", []byte(text)); err != nil || len(f.Warnings) > 0 {
				t.Errorf("%v %v:\n%s", f, err, text)
			}
		case language == "console":
			for command := range strings.SplitSeq("\n"+text, "\n$ ") {
				line, want, _ := strings.Cut(command, "\n")
				if line == "" {
					continue
				}
				commands++
				_, stdout, stderr := execute(Command(), strings.Fields(line)[1:]...)
				if diff := cmp.Diff(timeless(want), timeless(stdout)); diff != "" {
					t.Errorf("%s (-document +command):\n%s%s", line, diff, stderr)
				}
			}
		}
	}
	if commands < 4 {
		t.Errorf("ran %d commands", commands)
	}
}

func timeless(s string) string { return strings.TrimSpace(took.ReplaceAllString(s, "1ms")) }
