package events

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	kindsBegin = "<!-- kinds: the last column is written by go test ./pkg/events -update -->\n"
	kindsEnd   = "<!-- end of kinds -->"
)

func TestDocs(t *testing.T) {
	name := filepath.Join("..", "..", "docs", "events.md")
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), kindsBegin)
	table, after, ok2 := strings.Cut(rest, kindsEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no table of kinds", name)
	}
	reports := map[string]string{}
	lines := strings.SplitAfter(table, "\n")
	for _, line := range lines[2:] {
		if cells := strings.Split(line, " | "); len(cells) == 3 {
			reports[strings.Trim(cells[0], "|` ")] = cells[1]
		}
	}
	var b strings.Builder
	b.WriteString(before + kindsBegin + lines[0] + lines[1])
	for _, k := range Kinds() {
		if reports[string(k)] == "" {
			t.Errorf("%s does not say what %s reports", name, k)
		}
		payload, _ := PayloadOf(k)
		fields := fieldsOf(reflect.TypeOf(payload).Elem())
		b.WriteString("| `" + string(k) + "` | " + reports[string(k)] + " | " + strings.Join(fields, ", ") + " |\n")
	}
	b.WriteString(kindsEnd + after)
	golden(t, name, []byte(b.String()))
}

func TestDocs_Examples(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "events.md"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, `{"specversion"`) {
			count++
			e, err := Decode([]byte(line))
			if err == nil {
				err = e.Validate()
			}
			if diff := cmp.Diff(line, string(e.Encode())); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		}
		if strings.HasPrefix(line, `{"v"`) {
			count++
			m, err := DecodeManifest([]byte(line))
			if diff := cmp.Diff(line, string(m.Encode())); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		}
	}
	if count != 3 {
		t.Errorf("found %d examples, want 3", count)
	}
}

// fieldsOf lists the fields of a payload type. An embedded type such as Outcome is one entry.
func fieldsOf(t reflect.Type) []string {
	var fields []string
	for f := range t.Fields() {
		switch {
		case f.Type == reflect.TypeFor[Common]():
		case f.Anonymous:
			fields = append(fields, "*"+strings.ToLower(f.Name)+"*")
		default:
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name = "`" + name + "`"; options != "omitempty" && hasRequired(t) {
				name = "**" + name + "**"
			}
			fields = append(fields, name+describe(f.Type))
		}
	}
	return fields
}

func describe(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[time.Time]():
		return " (time)"
	case reflect.TypeFor[[]byte]():
		return " (base64)"
	}
	if values := enums[t]; values != nil {
		return " (" + strings.Join(values, ", ") + ")"
	}
	if t.Kind() == reflect.Struct {
		return "{" + strings.Join(fieldsOf(t), ", ") + "}"
	}
	return ""
}
