// Package architecture holds the floors: which package may import which.
//
// It parses the files itself. A test that asks the go command what a package
// imports can pass from the test cache after somebody broke the rule.
package architecture

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTree(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	findings, err := check(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Error(f)
	}
}

func TestTreeIsSeen(t *testing.T) {
	tree, err := parse(os.DirFS(filepath.Join("..", "..", "..")))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"pkg/events", "pkg/hooks", "internal/subjects", "internal/platform/cli", "internal/testkit/architecture"} {
		if len(tree.packages[dir]) == 0 {
			t.Errorf("no file of %s was read", dir)
		}
	}
}

// check returns what breaks the rules, sorted.
func check(root fs.FS) ([]string, error) {
	tree, err := parse(root)
	if err != nil {
		return nil, err
	}
	var findings []string
	for dir, files := range tree.packages {
		findings = append(findings, checkPackage(dir)...)
		for _, f := range files {
			findings = append(findings, f.check()...)
		}
	}
	findings = append(findings, tree.checkPure()...)
	slices.Sort(findings)
	return findings, nil
}

func checkPackage(dir string) []string {
	var findings []string
	if _, ok := floors[dir]; !ok {
		findings = append(findings, dir+": the package has no floor; place it in internal/testkit/architecture")
	}
	for name := range strings.SplitSeq(dir, "/") {
		if slices.Contains(vague, name) {
			findings = append(findings, dir+": "+name+" is no name for a package")
		}
	}
	return findings
}
