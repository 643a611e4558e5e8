package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// splice is a change of a text: what is between two offsets becomes something
// else.
type splice struct {
	from, to int
	text     string
}

// with returns the document after changes, which are in the order of their
// places.
func (d *document) with(changes ...splice) (*document, error) {
	var b bytes.Buffer
	at := 0
	for _, c := range changes {
		b.Write(d.data[at:c.from])
		b.WriteString(c.text)
		at = c.to
	}
	b.Write(d.data[at:])
	return parse(d.file, b.Bytes())
}

// newline returns how the lines of the document end.
func (d *document) newline() string {
	if bytes.Contains(d.data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// indent returns what lines of the document are indented by: the first that is,
// two spaces if none is.
func (d *document) indent() string {
	for _, it := range d.root.items {
		if lead, own := d.lead(it.start); own && lead != "" {
			return lead
		}
	}
	return "  "
}

// lead returns what is before an offset on its line, and whether that is nothing
// but white space.
func (d *document) lead(at int) (string, bool) {
	line := string(d.data[bytes.LastIndexByte(d.data[:at], '\n')+1 : at])
	return line, strings.Trim(line, " \t") == ""
}

// leadOf returns the white space that the line of an offset begins with.
func (d *document) leadOf(at int) string {
	line, _ := d.lead(at)
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// added returns the document with v as the last item of a list or, with a key,
// of an object.
func (d *document) added(to *value, key string, v any) (*document, error) {
	if len(to.items) == 0 {
		return d.addedFirst(to, key, v)
	}
	last := to.items[len(to.items)-1]
	lead, own := d.lead(last.start)
	at := d.afterComment(max(last.value.end, last.comma+1))
	before := " "
	switch {
	case own:
		before = d.newline() + lead
	case d.data[at] == '\r', d.data[at] == '\n': // perhaps after a comment
		before = d.newline() + d.leadOf(last.start)
	}
	written, err := d.written(key, v, lead, own)
	switch {
	case err != nil:
		return nil, err
	case last.comma >= 0:
		return d.with(splice{at, at, before + written + ","})
	}
	return d.with(splice{last.value.end, last.value.end, ","}, splice{at, at, before + written})
}

// addedFirst is added for what is empty.
func (d *document) addedFirst(to *value, key string, v any) (*document, error) {
	outer := d.leadOf(to.start)
	inner := outer + d.indent()
	written, err := d.written(key, v, inner, true)
	if err != nil {
		return nil, err
	}
	after := ""
	if rest := d.data[to.start+1 : to.end-1]; bytes.IndexByte(rest, '\n') < 0 {
		after = d.newline() + outer
	}
	end := to.end - 1
	if strings.TrimSpace(string(d.data[to.start+1:end])) != "" {
		return d.with(splice{to.start + 1, to.start + 1, d.newline() + inner + written}, splice{end, end, after})
	}
	return d.with(splice{to.start + 1, end, d.newline() + inner + written + d.newline() + outer})
}

// afterComment returns the end of a comment that follows on the same line as
// what ends at an offset; the offset itself if there is none.
func (d *document) afterComment(at int) int {
	rest := d.data[at:]
	blank := len(rest) - len(bytes.TrimLeft(rest, " \t"))
	comment := rest[blank:]
	switch {
	case bytes.HasPrefix(comment, []byte("//")):
		return at + blank + lineLength(comment)
	case bytes.HasPrefix(comment, []byte("/*")):
		end := bytes.Index(comment, []byte("*/")) + len("*/")
		if bytes.IndexByte(comment[:end], '\n') < 0 {
			return at + blank + end
		}
	}
	return at
}

// written returns a value, or a member, as it is written into the document.
func (d *document) written(key string, v any, lead string, lines bool) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if lines {
		enc.SetIndent(lead, d.indent())
	}
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("write %s: %w", d.file, err)
	}
	s := strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", d.newline())
	if key == "" {
		return s, nil
	}
	name, err := json.Marshal(key)
	return string(name) + ": " + s, err
}

// removed returns the document without the item at an index.
func (d *document) removed(from *value, index int) (*document, error) {
	it := from.items[index]
	start := d.before(it.start)
	switch {
	case it.comma >= 0:
		return d.with(splice{start, it.comma + 1, ""})
	case index == 0:
		return d.with(splice{start, it.value.end, ""})
	}
	comma := from.items[index-1].comma
	return d.with(splice{comma, comma + 1, ""}, splice{max(start, comma+1), it.value.end, ""})
}

// before returns where the white space begins that stands before an offset: on
// its line and, if nothing else is there, with the end of the line before.
func (d *document) before(at int) int {
	for at > 0 && (d.data[at-1] == ' ' || d.data[at-1] == '\t') {
		at--
	}
	if at > 0 && d.data[at-1] == '\n' {
		at--
		if at > 0 && d.data[at-1] == '\r' {
			at--
		}
	}
	return at
}

// bare tells whether a list or an object has neither items nor comments.
func (d *document) bare(v *value) bool {
	return len(v.items) == 0 && strings.TrimSpace(string(d.data[v.start+1:v.end-1])) == ""
}
