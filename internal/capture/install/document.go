package install

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// SyntaxError reports where and why a configuration file cannot be parsed. It quotes at most one
// character, because the file can contain secrets.
type SyntaxError struct {
	File   string
	Line   int // from 1
	Column int // in bytes, from 1
	Reason string
}

// Error returns "file:line:column: reason".
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Reason)
}

const (
	kindObject = '{'
	kindList   = '['
	kindText   = '"'
)

// maxNested limits the lists and objects in a document, because the parser is recursive.
const maxNested = 100_000

const maxDepth = 200

var byteOrderMark = []byte("\xef\xbb\xbf")

type document struct {
	file string
	mark []byte
	data []byte // without the byte order mark
	root *hujson.Value
}

func parse(file string, data []byte) (*document, error) {
	d := &document{file: file, data: data}
	if rest, ok := bytes.CutPrefix(data, byteOrderMark); ok {
		d.mark, d.data = byteOrderMark, rest
	}
	if bytes.Count(d.data, []byte("["))+bytes.Count(d.data, []byte("{")) > maxNested {
		return nil, d.wrong(0, fmt.Sprintf("more than %d lists and objects", maxNested))
	}
	if !utf8.Valid(d.data) {
		valid := bytes.TrimLeftFunc(d.data, func(r rune) bool { return r != utf8.RuneError })
		return nil, d.wrong(len(d.data)-len(valid), "not UTF-8")
	}
	input := d.data
	if !bytes.HasSuffix(input, []byte("\n")) { // the parser requires a line feed after a // comment
		input = append(bytes.Clone(input), '\n')
	}
	root, err := hujson.Parse(input)
	if err != nil {
		return nil, d.refused(err)
	}
	d.root = &root
	if at, ok := deepest(d.root, maxDepth); ok {
		return nil, d.wrong(at, "nested too deeply")
	}
	return d, d.checkKeys()
}

func deepest(v *hujson.Value, limit int) (offset int, found bool) {
	if limit < 0 {
		return v.StartOffset, true
	}
	switch parent := v.Value.(type) {
	case *hujson.Object:
		for i := range parent.Members {
			if offset, found = deepest(&parent.Members[i].Value, limit-1); found {
				return offset, true
			}
		}
	case *hujson.Array:
		for i := range parent.Elements {
			if offset, found = deepest(&parent.Elements[i], limit-1); found {
				return offset, true
			}
		}
	}
	return 0, false
}

func (d *document) bytes() []byte { return append(bytes.Clone(d.mark), d.data...) }

// refused converts an error of the parser to a SyntaxError. It drops literals of the input, because
// they can be secrets.
func (d *document) refused(err error) error {
	report := &SyntaxError{File: d.file, Line: 1, Column: 1}
	place, reason, _ := strings.Cut(strings.TrimPrefix(err.Error(), "hujson: "), ": ")
	if _, err := fmt.Sscanf(place, "line %d, column %d", &report.Line, &report.Column); err != nil {
		reason = "not JSON"
	}
	if strings.HasPrefix(reason, "invalid literal") {
		reason = "invalid literal"
	}
	report.Reason = reason
	return report
}

func (d *document) checkKeys() error {
	for v := range d.root.All() {
		if kind(v) != kindObject {
			continue
		}
		seen := map[string]bool{}
		for _, it := range items(v) {
			if seen[it.key] {
				return d.wrong(it.start, "duplicate key")
			}
			seen[it.key] = true
		}
	}
	return nil
}

func (d *document) wrong(at int, reason string) error {
	before := d.data[:min(at, len(d.data))]
	line := 1 + bytes.Count(before, []byte("\n"))
	return &SyntaxError{File: d.file, Line: line, Column: len(before) - bytes.LastIndexByte(before, '\n'), Reason: reason}
}

func kind(v *hujson.Value) hujson.Kind {
	if v == nil {
		return 0
	}
	return v.Value.Kind()
}

type item struct {
	start int
	key   string // empty for an element
	value *hujson.Value
	comma int // offset of the comma after the value; -1 without one
}

func items(v *hujson.Value) []item {
	var all []item
	switch of := v.Value.(type) {
	case *hujson.Object:
		for i := range of.Members {
			m := &of.Members[i]
			all = append(all, item{start: m.Name.StartOffset, key: literal(&m.Name), value: &m.Value})
		}
	case *hujson.Array:
		for i := range of.Elements {
			all = append(all, item{start: of.Elements[i].StartOffset, value: &of.Elements[i]})
		}
	}
	for i := range all {
		all[i].comma = -1
		// AfterExtra of the last value is non-nil only if a comma follows the value.
		if after := all[i].value.AfterExtra; i < len(all)-1 || after != nil {
			all[i].comma = all[i].value.EndOffset + len(after)
		}
	}
	return all
}

func literal(v *hujson.Value) string {
	l, _ := v.Value.(hujson.Literal)
	return l.String()
}

func index(v *hujson.Value, key string) int {
	if kind(v) == kindObject {
		for i, it := range items(v) {
			if it.key == key {
				return i
			}
		}
	}
	return -1
}

func member(v *hujson.Value, key string) *hujson.Value {
	if i := index(v, key); i >= 0 {
		return items(v)[i].value
	}
	return nil
}
