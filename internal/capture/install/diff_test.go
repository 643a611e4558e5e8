package install

import (
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
}

// Applying a diff to the old text gives the new one.
func TestUnified_Applies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a", "b", "c", "d", ""})
		old, now := rapid.SliceOfN(line, 0, 40).Draw(t, "old"), rapid.SliceOfN(line, 0, 40).Draw(t, "now")
		var got []string
		for _, e := range compare(old, now) {
			if e.sign != '-' {
				got = append(got, e.line)
			}
		}
		if diff := cmp.Diff(strings.Join(now, "\n"), strings.Join(got, "\n")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
