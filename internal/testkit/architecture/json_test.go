package architecture

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// jsonResults are the results of commands in docs/json.md, by the Go type that a command prints.
var jsonResults = []struct{ commands, dir, name string }{ //nolint:gochecknoglobals // a table
	{"auditor verify", "internal/evidence/ledger/verifier", "Report"},
	{"auditor coverage", "internal/evidence/coverage", "Report"},
	{"auditor erase and prune", "internal/command/auditor", "Change"},
	{"auditor rule list", "internal/command/auditor", "Rule"},
	{"publisher import", "internal/capture/publisher", "ImportSummary"},
	{"publisher pipe", "internal/capture/publisher", "PipeSummary"},
	{"publisher outbox status", "internal/capture/publisher", "Outbox"},
	{"hooktrail run list", "internal/evidence/ledger", "RunSummary"},
	{"hooktrail run show", "internal/evidence/runtree", "Trace"},
	{"hooktrail run tail, one object per line", "internal/evidence/tail", "Line"},
}

// The tables of docs/json.md have all fields of the results, with the comments of the Go types.
func TestJSON(t *testing.T) {
	name := filepath.Join(root, "docs", "json.md")
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const begin = "<!-- written by: go test ./internal/testkit/architecture -update -->\n"
	head, have, ok := strings.Cut(string(page), begin)
	if !ok {
		t.Fatal("docs/json.md has no marker for the tables")
	}
	d := jsonDoc{t: t, parsed: map[string]map[string]*declared{}}
	for _, r := range jsonResults {
		fmt.Fprintf(&d.text, "\n## %s\n", r.commands)
		d.table(r.dir + " " + r.name)
	}
	d.text.WriteString("\n## Parts\n")
	for i := 0; i < len(d.queue); i++ { //nolint:intrange // table appends to the queue
		_, name, _ := strings.Cut(d.queue[i], " ")
		fmt.Fprintf(&d.text, "\n**%s**\n", name)
		d.table(d.queue[i])
	}
	if *update {
		if err := os.WriteFile(name, []byte(head+begin+d.text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(d.text.String(), have); diff != "" {
		t.Errorf("docs/json.md (-types +page), -update rewrites it:\n%s", diff)
	}
}

// declared is a struct type with the imports of its file.
type declared struct {
	dir     string
	tagged  bool // the fields have names in JSON
	fields  *ast.FieldList
	imports map[string]string // name to folder
}

type jsonDoc struct {
	t      *testing.T
	text   strings.Builder
	parsed map[string]map[string]*declared // by folder and type
	queue  []string                        // "folder Type" of the structs in the results
}

func (d *jsonDoc) table(key string) {
	dir, name, _ := strings.Cut(key, " ")
	s := d.find(dir, name)
	if s == nil {
		d.t.Fatalf("%s has no struct %s", dir, name)
	}
	d.text.WriteString("\n| field | type | meaning |\n|---|---|---|\n")
	d.rows(s)
}

// plain replaces what only readers of the code know.
var plain = strings.NewReplacer("|", `\|`, "nil ", "absent ", "[", "", "]", "") //nolint:gochecknoglobals // a constant

func (d *jsonDoc) rows(s *declared) {
	for _, f := range s.fields.List {
		tag := ""
		if f.Tag != nil {
			text, _ := strconv.Unquote(f.Tag.Value)
			tag, _, _ = strings.Cut(reflect.StructTag(text).Get("json"), ",")
		}
		switch embedded := d.structOf(s, f.Type); {
		case len(f.Names) == 0 && embedded != nil && tag == "":
			d.rows(embedded)
		case tag != "" && tag != "-":
			comment := strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
			fmt.Fprintf(&d.text, "| `%s` | %s | %s |\n", tag, d.typeText(s, f.Type), plain.Replace(comment))
		}
	}
}

// typeText returns the words for a type, and adds a struct to the queue.
func (d *jsonDoc) typeText(in *declared, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return d.typeText(in, e.X)
	case *ast.ArrayType:
		return "list of " + d.typeText(in, e.Elt)
	case *ast.MapType:
		return "map of " + d.typeText(in, e.Value)
	}
	if s := d.structOf(in, e); s != nil {
		if !s.tagged {
			return "object"
		}
		name := lastName(e)
		if key := s.dir + " " + name; !slices.Contains(d.queue, key) {
			d.queue = append(d.queue, key)
		}
		return name
	}
	switch text := types.ExprString(e); text {
	case "time.Time":
		return "time"
	case "time.Duration":
		return "nanoseconds"
	case "int", "int64", "uint64", "uint32", "float64":
		return "number"
	case "bool":
		return "boolean"
	default:
		return "text"
	}
}

func lastName(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		return s.Sel.Name
	}
	return types.ExprString(e)
}

// structOf returns the struct type that e names in this module, or nil.
func (d *jsonDoc) structOf(in *declared, e ast.Expr) *declared {
	switch e := e.(type) {
	case *ast.Ident:
		return d.find(in.dir, e.Name)
	case *ast.SelectorExpr:
		if dir := in.imports[types.ExprString(e.X)]; dir != "" {
			return d.find(dir, e.Sel.Name)
		}
	}
	return nil
}

func (d *jsonDoc) find(dir, name string) *declared {
	if d.parsed[dir] == nil {
		d.parsed[dir] = d.parse(dir)
	}
	return d.parsed[dir][name]
}

func (d *jsonDoc) parse(dir string) map[string]*declared {
	found := map[string]*declared{}
	names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
	if err != nil {
		d.t.Fatal(err)
	}
	for _, name := range names {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			d.t.Fatal(err)
		}
		imports := map[string]string{}
		for _, i := range f.Imports {
			if text, _ := strconv.Unquote(i.Path.Value); strings.HasPrefix(text, module+"/") {
				imports[path.Base(text)] = strings.TrimPrefix(text, module+"/")
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					found[spec.Name.Name] = &declared{dir, hasTags(s), s.Fields, imports}
				}
			}
			return true
		})
	}
	return found
}

func hasTags(s *ast.StructType) bool {
	return slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool { return f.Tag != nil })
}
