// Package architecture tests which wing may import which, which packages a program links, and how
// large a file may be.
//
// It parses the source itself, so that the go command caches no stale result.
package architecture

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var root = filepath.Join("..", "..", "..")

func TestTree(t *testing.T) {
	tree, err := parse(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"pkg/events", "pkg/hooks", "internal/subjects", "internal/platform/cli", "internal/testkit/architecture"} {
		if len(tree.packages[dir]) == 0 {
			t.Errorf("no file of %s was read", dir)
		}
	}
	for _, f := range tree.check() {
		t.Error(f)
	}
}

// Each wing describes its data flow.
func TestWings_HaveDoc(t *testing.T) {
	for wing := range wings {
		if !strings.HasPrefix(wing, "internal/") || wing == "internal/subjects" {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(wing), "doc.go")); err != nil {
			t.Error(err)
		}
	}
}

func TestInternal_HasFewEntries(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join(root, "internal"))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) > maxEntries {
		t.Errorf("internal has %d entries, the limit is %d", len(entries), maxEntries)
	}
}

func TestWings_NoCycle(t *testing.T) {
	var visit func(wing string, above []string)
	visit = func(wing string, above []string) {
		if slices.Contains(above, wing) {
			t.Fatalf("cycle: %v", append(above, wing))
		}
		for _, imported := range wings[wing] {
			visit(imported, append(above, wing))
		}
	}
	for wing := range wings {
		visit(wing, nil)
	}
}

func (t tree) check() []string {
	var findings []string
	for dir, files := range t.packages {
		if wingOf(dir) == "" {
			findings = append(findings, dir+": the package is in no wing")
		}
		for name := range strings.SplitSeq(dir, "/") {
			if slices.Contains(vague, name) {
				findings = append(findings, dir+": "+name+" is a vague name for a package")
			}
		}
		if n := code(files); n > maxFiles && !slices.ContainsFunc(files, func(f file) bool { return f.listed }) {
			findings = append(findings, fmt.Sprintf("%s: %d files, and doc.go has no section # Files that says why and lists them", dir, n))
		}
		methods := map[string]int{}
		for _, f := range files {
			findings = append(findings, f.check()...)
			if !f.test {
				for _, receiver := range f.methods {
					methods[receiver]++
				}
			}
		}
		for receiver, n := range methods {
			if n > maxMethods {
				findings = append(findings, fmt.Sprintf("%s.%s: %d methods, the limit is %d", dir, receiver, n, maxMethods))
			}
		}
	}
	slices.Sort(findings)
	return findings
}

// code counts the files that are no tests.
func code(files []file) (n int) {
	for _, f := range files {
		if !f.test {
			n++
		}
	}
	return n
}

func check(root fs.FS) ([]string, error) {
	t, err := parse(root)
	return t.check(), err
}
