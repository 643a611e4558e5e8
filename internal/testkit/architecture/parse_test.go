package architecture

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/hooktrail/hooktrail"

type tree struct{ packages map[string][]file }

type file struct {
	dir     string
	path    string
	test    bool
	lines   int
	imports []string
	leaks   []string // internal packages in the exported API of a public package
	methods []string // receiver type of each method
	listed  bool     // doc.go with a list of files
}

// parse reads every Go file below root, except in testdata and hidden folders.
func parse(root fs.FS) (tree, error) {
	t := tree{packages: map[string][]file{}}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") {
			return nil
		}
		f, err := parseFile(root, name)
		if err != nil {
			return err
		}
		t.packages[f.dir] = append(t.packages[f.dir], f)
		return nil
	})
	return t, err
}

func parseFile(root fs.FS, name string) (file, error) {
	src, err := fs.ReadFile(root, name)
	if err != nil {
		return file{}, err
	}
	syntax, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	if err != nil {
		return file{}, err
	}
	f := file{
		dir: path.Dir(name), path: name,
		test:   strings.HasSuffix(name, "_test.go"),
		lines:  bytes.Count(src, []byte("\n")),
		listed: path.Base(name) == "doc.go" && bytes.Contains(src, []byte("\n// # Files\n")),
	}
	inner := map[string]bool{} // local names of internal packages
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return file{}, err
		}
		f.imports = append(f.imports, imported)
		if strings.HasPrefix(imported, module+"/internal/") {
			local := path.Base(imported)
			if spec.Name != nil {
				local = spec.Name.Name
			}
			inner[local] = true
		}
	}
	f.methods = receivers(syntax)
	if strings.HasPrefix(f.dir, "pkg/") && !f.test && len(inner) > 0 {
		f.leaks = leaks(syntax, inner)
	}
	return f, nil
}

func receivers(syntax *ast.File) (types []string) {
	for _, decl := range syntax.Decls {
		d, ok := decl.(*ast.FuncDecl)
		if !ok || d.Recv == nil {
			continue
		}
		t := d.Recv.List[0].Type
		if star, ok := t.(*ast.StarExpr); ok {
			t = star.X
		}
		switch generic := t.(type) {
		case *ast.IndexExpr:
			t = generic.X
		case *ast.IndexListExpr:
			t = generic.X
		}
		if name, ok := t.(*ast.Ident); ok {
			types = append(types, name.Name)
		}
	}
	return types
}

func leaks(syntax *ast.File, inner map[string]bool) []string {
	var found []string
	look := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				return len(n.Names) == 0 || slices.ContainsFunc(n.Names, (*ast.Ident).IsExported)
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && inner[x.Name] {
					found = append(found, x.Name+"."+n.Sel.Name)
				}
			}
			return true
		})
	}
	lookSignature := func(t *ast.FuncType) {
		for _, list := range []*ast.FieldList{t.Params, t.Results} {
			if list == nil {
				continue
			}
			for _, field := range list.List {
				look(field.Type)
			}
		}
	}
	for _, decl := range syntax.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() {
				lookSignature(d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				lookSpec(spec, look)
			}
		}
	}
	return found
}

func lookSpec(spec ast.Spec, look func(ast.Node)) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			look(s.Type)
		}
	case *ast.ValueSpec:
		if s.Type != nil && slices.ContainsFunc(s.Names, (*ast.Ident).IsExported) {
			look(s.Type)
		}
	}
}
