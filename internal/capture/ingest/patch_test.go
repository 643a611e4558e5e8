package ingest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
)

func TestPatchedFiles(t *testing.T) {
	patch := strings.Join([]string{
		"diff --git a/src/a.c b/src/a.c", "--- a/src/a.c", "+++ b/src/a.c", "+diff --git a/no b/no",
		"diff --git a/old b/new", "diff --git a/with space b/with space\r", "diff --git a/src/a.c b/src/a.c",
	}, "\n")
	want := []string{"src/a.c", "new", "with space"}
	if diff := cmp.Diff(want, ingest.PatchedFiles(patch)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	many := strings.Repeat("diff --git a/f b/f\n", 2000)
	if got := ingest.PatchedFiles(many); len(got) != 1 {
		t.Errorf("got %d files, want 1", len(got))
	}
}

func TestFirstElement(t *testing.T) {
	tests := []struct {
		name, head, want string
		list             bool
	}{
		{"List", "\uFEFF [ {\"a\":1}, {\"b\"", `{"a":1}, {"b"`, true},
		{"EmptyList", "[]", "]", true},
		{"Object", `{"a":[1]}`, "", false},
		{"Nothing", " ", "", false},
		{"Cut", "[ ", "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if first, list := ingest.FirstElement([]byte(tt.head)); string(first) != tt.want || list != tt.list {
				t.Errorf("got %q, %t, want %q, %t", first, list, tt.want, tt.list)
			}
		})
	}
}
