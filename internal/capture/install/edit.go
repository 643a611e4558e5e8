package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

type splice struct {
	from, to int
	text     string
}

func (d *document) with(changes ...splice) (*document, error) {
	var b bytes.Buffer
	b.Write(d.mark)
	at := 0
	for _, c := range changes {
		b.Write(d.data[at:c.from])
		b.WriteString(c.text)
		at = c.to
	}
	b.Write(d.data[at:])
	return parse(d.file, b.Bytes())
}

func (d *document) newline() string {
	if bytes.Contains(d.data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

func (d *document) indent() string {
	for _, it := range items(d.root) {
		if lead, blank := d.lead(it.start); blank && lead != "" {
			return lead
		}
	}
	return "  "
}

func (d *document) lead(at int) (string, bool) {
	line := string(d.data[bytes.LastIndexByte(d.data[:at], '\n')+1 : at])
	return line, strings.Trim(line, " \t") == ""
}

func (d *document) leadOf(at int) string {
	line, _ := d.lead(at)
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

func (d *document) added(to *hujson.Value, key string, v any) (*document, error) {
	all := items(to)
	if len(all) == 0 {
		return d.addedFirst(to, key, v)
	}
	last := all[len(all)-1]
	lead, ownLine := d.lead(last.start)
	at := d.afterComment(max(last.value.EndOffset, last.comma+1))
	before := " "
	switch {
	case ownLine:
		before = d.newline() + lead
	case d.data[at] == '\r', d.data[at] == '\n': // the line ends here, perhaps after a comment
		before = d.newline() + d.leadOf(last.start)
	}
	written, err := d.encoded(key, v, lead, ownLine)
	switch {
	case err != nil:
		return nil, err
	case last.comma >= 0:
		return d.with(splice{at, at, before + written + ","})
	}
	return d.with(splice{last.value.EndOffset, last.value.EndOffset, ","}, splice{at, at, before + written})
}

func (d *document) addedFirst(to *hujson.Value, key string, v any) (*document, error) {
	outer := d.leadOf(to.StartOffset)
	inner := outer + d.indent()
	written, err := d.encoded(key, v, inner, true)
	if err != nil {
		return nil, err
	}
	start, end := to.StartOffset+1, to.EndOffset-1
	after := ""
	if bytes.IndexByte(d.data[start:end], '\n') < 0 {
		after = d.newline() + outer
	}
	if !d.bare(to) { // a comment must stay
		return d.with(splice{start, start, d.newline() + inner + written}, splice{end, end, after})
	}
	return d.with(splice{start, end, d.newline() + inner + written + d.newline() + outer})
}

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

func (d *document) encoded(key string, v any, lead string, lines bool) (string, error) {
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

func (d *document) removed(from *hujson.Value, index int) (*document, error) {
	all := items(from)
	it := all[index]
	start := d.before(it.start)
	switch {
	case it.comma >= 0:
		return d.with(splice{start, it.comma + 1, ""})
	case index == 0:
		return d.with(splice{start, it.value.EndOffset, ""})
	}
	comma := all[index-1].comma
	return d.with(splice{comma, comma + 1, ""}, splice{max(start, comma+1), it.value.EndOffset, ""})
}

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

func (d *document) bare(v *hujson.Value) bool {
	k := kind(v)
	return (k == kindObject || k == kindList) && len(bytes.TrimSpace(d.data[v.StartOffset+1:v.EndOffset-1])) == 0
}

func lineLength(b []byte) int {
	if i := bytes.IndexAny(b, "\r\n"); i >= 0 {
		return i
	}
	return len(b)
}
