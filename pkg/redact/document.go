package redact

import (
	"strconv"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

const maxDepth = 512

type document struct {
	cleaner *cleaner
	text    string
	pos     int
	skip    string // this member of the outermost object stays unchanged

	paths map[int]string // for objects by their start, the file name that an earlier pass found
	late  map[int]string // the same for the next pass

	trail    []step
	edits    []edit // in the order of the text
	found    []fieldSpan
	object   region // the outermost object
	recorded region // the list elements in the member "redacted" of object
	taken    bool   // object has a member "redacted" that is not a list
}

type step struct {
	name  string
	index int // -1 for a member of an object
}

type edit struct {
	region

	text string
}

type fieldSpan struct {
	field string // JSON pointer
	Span
}

func (d *document) clean() error {
	if err := d.value("", ""); err != nil {
		return err
	}
	if d.peek() != 0 {
		return d.fail("unexpected text behind the value")
	}
	return nil
}

func (d *document) fail(reason string) error {
	return &events.InvalidError{Attribute: "data", Offset: d.pos, Reason: reason}
}

func (d *document) peek() byte {
	for ; d.pos < len(d.text); d.pos++ {
		switch c := d.text[d.pos]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

func (d *document) value(name, path string) error {
	switch d.peek() {
	case '{':
		return d.members(path)
	case '[':
		return d.elements(path)
	case '"':
		return d.string(name, path)
	case 0, ',', ':', ']', '}':
		return d.fail("want a value")
	}
	for d.pos < len(d.text) && strings.IndexByte(",:]}\"[{ \t\r\n", d.text[d.pos]) < 0 {
		d.pos++
	}
	return nil
}

const files = " file_path filePath path notebook_path filename "

func (d *document) members(path string) error {
	start, depth := d.pos, len(d.trail)
	first, known := d.paths[start]
	if known {
		path = first
	}
	if depth >= maxDepth {
		return d.fail("nested more than " + strconv.Itoa(maxDepth) + " deep")
	}
	err := d.list('}', func(i int) error {
		if d.peek() != '"' {
			return d.fail("want a name in quotes")
		}
		raw, err := d.quoted()
		if err != nil {
			return err
		}
		name := unescape(raw)
		if d.peek() != ':' {
			return d.fail("want ':'")
		}
		d.pos++
		d.trail = append(d.trail, step{name, -1})
		from := d.pos
		err = d.member(name, path)
		d.trail = d.trail[:depth]
		if file := d.fileName(name, from); file != "" && !known {
			path = file
			if i > 0 && d.cleaner.redactor.secrets.ofFile(path) {
				d.late[start] = path
			}
		}
		return err
	})
	if depth == 0 {
		d.object = region{start: start, end: d.pos}
	}
	return err
}

func (d *document) fileName(name string, from int) string {
	text := strings.TrimSpace(d.text[from:d.pos])
	if !strings.Contains(files, " "+name+" ") || len(text) < 3 || text[0] != '"' {
		return ""
	}
	return unescape(text[1 : len(text)-1])
}

func (d *document) member(name, path string) error {
	if len(d.trail) > 1 {
		return d.value(name, path)
	}
	open := d.peek()
	start := d.pos
	if name == d.skip && open == '"' {
		_, err := d.quoted()
		return err
	}
	err := d.value(name, path)
	if name == redactedField {
		d.recorded, d.taken = region{start: start + 1, end: d.pos - 1}, open != '['
	}
	return err
}

func (d *document) elements(path string) error {
	depth := len(d.trail)
	if depth >= maxDepth {
		return d.fail("nested more than " + strconv.Itoa(maxDepth) + " deep")
	}
	return d.list(']', func(i int) error {
		d.trail = append(d.trail, step{"", i})
		err := d.value("", path)
		d.trail = d.trail[:depth]
		return err
	})
}

func (d *document) list(end byte, element func(int) error) error {
	d.pos++
	if d.peek() == end {
		d.pos++
		return nil
	}
	for i := 0; ; i++ {
		if err := element(i); err != nil {
			return err
		}
		switch d.peek() {
		case end:
			d.pos++
			return nil
		case ',':
			d.pos++
		default:
			return d.fail("want ',' or " + strconv.QuoteRune(rune(end)))
		}
	}
}

func (d *document) quoted() (string, error) {
	start := d.pos + 1
	for i := start; ; {
		n := strings.IndexByte(d.text[i:], '"')
		if n < 0 {
			return "", d.fail("string without an end")
		}
		i += n
		slashes := 0
		for i-slashes > start && d.text[i-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			d.pos = i + 1
			return d.text[start:i], nil
		}
		i++
	}
}

func (d *document) string(name, path string) error {
	raw, err := d.quoted()
	if err != nil {
		return err
	}
	start := d.pos - 1 - len(raw)
	_, spans := d.cleaner.clean(subject{text: unescape(raw), path: path}, name)
	if len(spans) == 0 {
		return nil
	}
	field := d.field()
	list := make([]finding, len(spans))
	for i, s := range spans {
		d.found = append(d.found, fieldSpan{field, s})
		list[i] = finding{rule: s.Rule, start: s.Start, end: s.End, secret: !isPersonalRule(s.Rule)}
	}
	for _, m := range rawRegions(raw, merge(list)) {
		m.start, m.end = start+m.start, start+m.end
		d.edits = append(d.edits, edit{m, m.marker})
	}
	return nil
}
