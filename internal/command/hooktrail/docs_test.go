package hooktrail

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	root       = filepath.Join("..", "..", "..")
	testName   = regexp.MustCompile("`((?:internal|pkg)/[a-z0-9/]+)\\.(Test[A-Za-z0-9_]+)`")
	docLink    = regexp.MustCompile(`\]\(([^)#:]+)\)`)
	markedRows = regexp.MustCompile(`measured|comes with`)
)

func readDoc(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestGuarantees holds docs/guarantees.md to what there is: each row names a
// test that exists, or says that it was measured or is yet to come.
func TestGuarantees(t *testing.T) {
	doc := readDoc(t, "docs/guarantees.md")
	tests := map[string]map[string]bool{}
	rows := 0
	lines := bufio.NewScanner(strings.NewReader(doc))
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| failure |") || strings.HasPrefix(line, "| attack |") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(line, "|"), "|")
		held := cells[len(cells)-1]
		named := testName.FindAllStringSubmatch(held, -1)
		if len(named) == 0 && !markedRows.MatchString(held) {
			t.Errorf("nothing holds the row: %s", line)
		}
		for _, m := range named {
			if tests[m[1]] == nil {
				tests[m[1]] = testsIn(t, filepath.Join(root, m[1]))
			}
			if !tests[m[1]][m[2]] {
				t.Errorf("%s has no %s", m[1], m[2])
			}
		}
	}
	if rows < 7 {
		t.Errorf("got %d rows of guarantees", rows)
	}
}

// testsIn returns the tests of the package in dir.
func testsIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range syntax.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}

// documents returns the paths of all documents below the root of the repository.
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

// TestLinks holds the links between the documents.
func TestLinks(t *testing.T) {
	for _, name := range documents(t) {
		for _, m := range docLink.FindAllStringSubmatch(readDoc(t, name), -1) {
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s: link to %s: %v", name, m[1], err)
			}
		}
	}
}

// TestAgents holds AGENTS.md to a length that is read.
func TestAgents(t *testing.T) {
	if n := strings.Count(readDoc(t, "AGENTS.md"), "\n"); n > 80 {
		t.Errorf("AGENTS.md has %d lines, at most 80 are read", n)
	}
}
