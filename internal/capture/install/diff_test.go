package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestUnified(t *testing.T) {
	before := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
	after := "1\n2\n3\nthree\n4\n5\n6\n7\n8\n9\n10\n12\n13\n"
	want := `--- a
+++ b
@@ -1,6 +1,7 @@
 1
 2
 3
+three
 4
 5
 6
@@ -8,5 +9,5 @@
 8
 9
 10
-11
 12
+13
`
	if diff := cmp.Diff(want, unified("a", "b", []byte(before), []byte(after))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := unified("a", "b", []byte("1\r\n2\r\n"), []byte("1\n2\n")); got != "" {
		t.Errorf("line ends differ:\n%s", got)
	}
}

func TestUnified_Applies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "d\n", "\n"})
		before, after := rapid.SliceOfN(line, 0, 40).Draw(t, "before"), rapid.SliceOfN(line, 0, 40).Draw(t, "after")
		diff := unified("a", "b", []byte(strings.Join(before, "")), []byte(strings.Join(after, "")))
		if diff := cmp.Diff(strings.Join(after, ""), patched(t, before, diff)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The program patch accepts the diffs, even of texts without a final line feed.
func TestUnified_Patch(t *testing.T) {
	program, err := exec.LookPath("patch")
	if err != nil {
		t.Skipf("the program patch, which applies the diffs of this test, is not installed: %v", err)
	}
	texts := []string{"", "{}", "{}\n", "a\nb\nc", "a\nb\nc\n", "a\nb\nx", "a\nx\nc"}
	for _, before := range texts {
		for _, after := range texts {
			file := filepath.Join(t.TempDir(), "settings.json")
			if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
				t.Fatal(err)
			}
			diff := unified(file, file, []byte(before), []byte(after))
			if before == after && diff == "" {
				continue // patch refuses an empty diff
			}
			cmd := exec.CommandContext(t.Context(), program, "--fuzz=0", file)
			cmd.Stdin = strings.NewReader(diff)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%q to %q: %v\n%s\n%s", before, after, err, out, diff)
				continue
			}
			got, err := os.ReadFile(file)
			if err != nil && (after != "" || !errors.Is(err, fs.ErrNotExist)) { // patch may remove an empty file
				t.Fatal(err)
			}
			if string(got) != after {
				t.Errorf("%q to %q: patch wrote %q with\n%s", before, after, got, diff)
			}
		}
	}
}

func patched(t *rapid.T, before []string, diff string) string {
	var b strings.Builder
	at := 0
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
		case strings.HasPrefix(line, "@@"):
			start, count := 0, 1
			from := strings.Fields(line)[1]
			if _, err := fmt.Sscanf(from, "-%d,%d", &start, &count); err != nil && start == 0 && from != "-0,0" {
				t.Fatalf("%s: %v", line, err)
			}
			if start > 0 && count > 0 {
				start--
			}
			for ; at < start; at++ {
				b.WriteString(before[at])
			}
		case line[0] == '+':
			b.WriteString(line[1:])
		default:
			if before[at] != line[1:] {
				t.Fatalf("line %d is %q, the diff has %q", at+1, before[at], line)
			}
			if line[0] == ' ' {
				b.WriteString(before[at])
			}
			at++
		}
	}
	b.WriteString(strings.Join(before[at:], ""))
	return b.String()
}
