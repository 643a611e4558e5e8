package hooks_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

const root = "../.."

func readDoc(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// cells returns the cells of the table rows in doc.
func cells(doc string) [][]string {
	var rows [][]string
	for line := range strings.Lines(doc) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "|---") {
			continue
		}
		row := strings.Split(strings.Trim(line, "|"), " | ")
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		rows = append(rows, row)
	}
	return rows
}

// TestDocs_Begins checks that the document begins with the first example of the package.
func TestDocs_Begins(t *testing.T) {
	doc := readDoc(t, "docs/hooks.md")
	code, rest, ok := strings.Cut(strings.TrimPrefix(doc, "# Hooks\n\n```go\n"), "\n```\n")
	if !ok {
		t.Fatal("it does not begin with code")
	}
	example := readDoc(t, "pkg/hooks/example_engine_test.go")
	_, body, _ := strings.Cut(example, "func Example() {\n")
	body, printed, _ := strings.Cut(body, "\t// Output:\n")
	printed, _, _ = strings.Cut(printed, "}\n")
	dedented := strings.ReplaceAll(strings.TrimPrefix(body, "\t"), "\n\t", "\n")
	if diff := cmp.Diff(strings.TrimSpace(dedented), code); diff != "" {
		t.Errorf("the code (-example +document):\n%s", diff)
	}
	_, shown, _ := strings.Cut(rest, "```text\n")
	shown, _, _ = strings.Cut(shown, "```")
	if diff := cmp.Diff(strings.ReplaceAll(printed, "\t// ", ""), shown); diff != "" {
		t.Errorf("what it prints (-example +document):\n%s", diff)
	}
}

func TestDocs_Points(t *testing.T) {
	_, doc, _ := strings.Cut(readDoc(t, "docs/hooks.md"), "<!-- points -->")
	doc, _, _ = strings.Cut(doc, "\n\n")
	rows := cells(doc)[1:]
	points := hooks.Points()
	if len(rows) != len(points) {
		t.Fatalf("got %d rows, want %d", len(rows), len(points))
	}
	for i, p := range points {
		class, _, _ := strings.Cut(rows[i][1], ",")
		if rows[i][0] != "`"+string(p.Kind)+"`" || class != string(p.Class) {
			t.Errorf("row %d is %q, want %s, %s", i, rows[i], p.Kind, p.Class)
		}
		for _, alias := range p.Aliases {
			if !slices.Contains(strings.Split(rows[i][4], ", "), alias) {
				t.Errorf("%s: no alias %s", p.Kind, alias)
			}
		}
	}
}

var held = regexp.MustCompile("`((?:internal|pkg)/[a-z0-9/]+)\\.(Test[A-Za-z0-9_]+)(?:/([^`]+))?`")

// TestDocs_Seeds checks that the tables of criteria name exactly the tests of the seeds.
func TestDocs_Seeds(t *testing.T) {
	listed := map[string]bool{}
	known := map[string]map[string][]string{}
	for _, row := range cells(readDoc(t, "docs/seeds.md")) {
		if row[0] == "criterion" {
			continue
		}
		tests := held.FindAllStringSubmatch(row[len(row)-1], -1)
		if len(row) != 2 || len(tests) == 0 {
			t.Errorf("nothing holds %q", row)
		}
		for _, m := range tests {
			dir, test, sub := m[1], m[2], m[3]
			if known[dir] == nil {
				known[dir] = testsIn(t, dir)
			}
			subtests, ok := known[dir][test]
			if !ok {
				t.Errorf("%s has no %s", dir, test)
			}
			if sub == "" && strings.HasPrefix(test, "TestSeed") {
				sub = row[0]
			}
			if sub != "" && !slices.Contains(subtests, sub) {
				t.Errorf("%s.%s has no subtest %q", dir, test, sub)
			}
			listed[dir+"."+test+"/"+sub] = true
		}
	}
	for _, dir := range []string{"pkg/hooks", "pkg/hooks/provider", "pkg/hooks/policy", "pkg/hooks/hookfile"} {
		for test, subtests := range testsIn(t, dir) {
			for _, sub := range subtests {
				if name := dir + "." + test + "/" + sub; strings.HasPrefix(test, "TestSeed") && !listed[name] {
					t.Errorf("docs/seeds.md does not list %s", name)
				}
			}
		}
	}
}

// testsIn returns the tests of a package and the constant titles of their subtests.
func testsIn(t *testing.T, dir string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string][]string{}
	for _, file := range files {
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range syntax.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				tests[f.Name.Name] = subtestsOf(f)
			}
		}
	}
	return tests
}

func subtestsOf(f *ast.FuncDecl) []string {
	titles := []string{}
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || method.Sel.Name != "Run" {
			return true
		}
		if title, ok := call.Args[0].(*ast.BasicLit); ok {
			if s, err := strconv.Unquote(title.Value); err == nil {
				titles = append(titles, s)
			}
		}
		return true
	})
	return titles
}
