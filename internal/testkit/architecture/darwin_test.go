package architecture

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

type listed struct {
	Dir, ImportPath string
	GoFiles         []string
	ImportMap       map[string]string
	DepOnly         bool
}

// TestDarwin checks the types of everything as the compiler for macOS would. Compiling it takes
// minutes on a machine with an empty build cache.
func TestDarwin(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=Dir,ImportPath,GoFiles,ImportMap,DepOnly", "./...")
	list.Dir = root
	list.Env = append(os.Environ(), "GOOS=darwin", "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	fset, known, checked := token.NewFileSet(), map[string]*types.Package{"unsafe": types.Unsafe}, 0
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if l.ImportPath != "unsafe" {
			known[l.ImportPath] = l.check(t, fset, known)
		}
		if !l.DepOnly {
			checked++
		}
	}
	if checked < 50 {
		t.Errorf("only %d packages were checked", checked)
	}
}

func (l listed) check(t *testing.T, fset *token.FileSet, known map[string]*types.Package) *types.Package {
	t.Helper()
	var files []*ast.File
	for _, name := range l.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	config := types.Config{
		Sizes:            types.SizesFor("gc", "arm64"),
		IgnoreFuncBodies: l.DepOnly,
		Error: func(err error) {
			if !l.DepOnly {
				t.Error(err)
			}
		},
		Importer: importer(func(path string) (*types.Package, error) {
			if mapped, ok := l.ImportMap[path]; ok {
				path = mapped
			}
			if p := known[path]; p != nil {
				return p, nil
			}
			return nil, errors.New("not listed: " + path)
		}),
	}
	p, _ := config.Check(l.ImportPath, fset, files, nil)
	return p
}

type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }
