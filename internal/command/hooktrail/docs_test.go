package hooktrail

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	root    = filepath.Join("..", "..", "..")
	docLink = regexp.MustCompile(`\]\(([^)#:]+)\)`)
)

func readDoc(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func documents(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		list, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil || len(list) == 0 {
			t.Fatalf("no document matches %s: %v", pattern, err)
		}
		names = append(names, list...)
	}
	return names
}

func TestLinks(t *testing.T) {
	for _, name := range documents(t) {
		for _, m := range docLink.FindAllStringSubmatch(readDoc(t, name), -1) {
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s: link to %s: %v", name, m[1], err)
			}
		}
	}
}

func TestAgents(t *testing.T) {
	if n := strings.Count(readDoc(t, "AGENTS.md"), "\n"); n > 80 {
		t.Errorf("AGENTS.md has %d lines, at most 80 are read", n)
	}
}
