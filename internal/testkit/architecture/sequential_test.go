package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The Makefile leaves the race detector out for packages that start no goroutine.
func TestSequential(t *testing.T) {
	makefile, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`SEQUENTIAL := \$\(addprefix \./internal/,([^)]*)\)`).FindSubmatch(makefile)
	if list == nil {
		t.Fatal("the Makefile has no list SEQUENTIAL")
	}
	for dir := range strings.FieldsSeq(strings.ReplaceAll(string(list[1]), "\\\n", " ")) {
		files, err := filepath.Glob("../../" + dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Errorf("%s: no Go files (%v)", dir, err)
		}
		for _, name := range files {
			for _, found := range concurrency(t, name) {
				t.Errorf("%s uses %s: remove %s from SEQUENTIAL in the Makefile", name, found, dir)
			}
		}
	}
}

var concurrent = []string{"sync/atomic", "os/exec", "net", "net/http", "net/http/httptest", "testing/synctest", "golang.org/x/sync/errgroup"}

func concurrency(t *testing.T, name string) (found []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, "go")
		case *ast.ChanType:
			found = append(found, "chan")
		case *ast.SelectorExpr:
			if on, ok := n.X.(*ast.Ident); n.Sel.Name == "Parallel" || ok && on.Name == "sync" && !strings.HasPrefix(n.Sel.Name, "Once") {
				found = append(found, n.Sel.Name)
			}
		case *ast.ImportSpec:
			if path := strings.Trim(n.Path.Value, `"`); slices.Contains(concurrent, path) || strings.HasSuffix(path, "/natstest") {
				found = append(found, path)
			}
		}
		return true
	})
	return found
}
