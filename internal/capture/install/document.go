package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// SyntaxError says where a file is not what it has to be. It holds no text of
// the file but names of keys that this package looks for.
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

// shape is what a value is.
type shape int

const (
	scalar shape = iota // number, true, false, null
	text
	list
	object
)

// value is a value of a document, with its place in the text.
type value struct {
	shape      shape
	start, end int // of the text, brackets included
	text       string
	items      []item
}

// item is an element of a list, or a member of an object.
type item struct {
	start int    // of the key, or of the element
	key   string // of a member
	value *value
	comma int // where the comma after it is; -1 without one
}

// member returns the member of that name; nil if there is none.
func (v *value) member(key string) *value {
	if v == nil || v.shape != object {
		return nil
	}
	for _, it := range v.items {
		if it.key == key {
			return it.value
		}
	}
	return nil
}

// index returns the place of the member of that name; -1 if there is none.
func (v *value) index(key string) int {
	for i, it := range v.items {
		if it.key == key {
			return i
		}
	}
	return -1
}

// maxDepth bounds how deep values may be nested.
const maxDepth = 200

// byteOrderMark may stand before a document.
var byteOrderMark = []byte("\xef\xbb\xbf")

// document is JSON as people write it: with comments and commas after the last
// element.
type document struct {
	file string
	data []byte
	root *value
}

// parse reads a document. Data of nothing but space and comments has no root.
func parse(file string, data []byte) (*document, error) {
	d := &document{file: file, data: data}
	p := &parser{document: d}
	if bytes.HasPrefix(data, byteOrderMark) {
		p.at = len(byteOrderMark)
	}
	if !utf8.Valid(data) {
		return nil, d.wrong(len(data)-len(bytes.TrimLeftFunc(data, func(r rune) bool { return r != utf8.RuneError })), "not UTF-8")
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.at == len(data) {
		return d, nil
	}
	var err error
	if d.root, err = p.value(0); err != nil {
		return nil, err
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.at < len(data) {
		return nil, d.wrong(p.at, "text after the end of the document")
	}
	return d, nil
}

// wrong returns the error for what is at an offset.
func (d *document) wrong(at int, reason string) error {
	before := d.data[:min(at, len(d.data))]
	line := 1 + bytes.Count(before, []byte("\n"))
	return &SyntaxError{File: d.file, Line: line, Column: len(before) - bytes.LastIndexByte(before, '\n'), Reason: reason}
}

type parser struct {
	*document
	at int
}

// next returns the byte at the current place; 0 at the end.
func (p *parser) next() byte {
	if p.at < len(p.data) {
		return p.data[p.at]
	}
	return 0
}

// space skips white space and comments.
func (p *parser) space() error {
	for p.at < len(p.data) {
		rest := p.data[p.at:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			p.at++
		case bytes.HasPrefix(rest, []byte("//")):
			p.at += lineLength(rest)
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return p.wrong(p.at, "this comment has no end")
			}
			p.at += end + 4
		default:
			return nil
		}
	}
	return nil
}

// lineLength returns how long the first line is, without its end.
func lineLength(b []byte) int {
	if i := bytes.IndexAny(b, "\r\n"); i >= 0 {
		return i
	}
	return len(b)
}

func (p *parser) value(depth int) (*value, error) {
	switch {
	case depth > maxDepth:
		return nil, p.wrong(p.at, "nested too deeply")
	case p.next() == '{':
		return p.container(object, '}', depth)
	case p.next() == '[':
		return p.container(list, ']', depth)
	case p.next() == '"':
		start := p.at
		s, err := p.quoted()
		return &value{shape: text, start: start, end: p.at, text: s}, err
	}
	start := p.at
	for p.at < len(p.data) && strings.IndexByte(" \t\r\n,:{}[]\"/", p.data[p.at]) < 0 {
		p.at++
	}
	if !json.Valid(p.data[start:p.at]) {
		return nil, p.wrong(start, "a value is expected here")
	}
	return &value{start: start, end: p.at}, nil
}

// quoted reads a text.
func (p *parser) quoted() (string, error) {
	start := p.at
	for p.at++; p.at < len(p.data) && p.data[p.at] != '"' && p.data[p.at] != '\n'; p.at++ {
		if p.data[p.at] == '\\' {
			p.at++
		}
	}
	if p.next() != '"' {
		return "", p.wrong(start, "this text has no end")
	}
	p.at++
	var s string
	if json.Unmarshal(p.data[start:p.at], &s) != nil {
		return "", p.wrong(start, "not a text as JSON has it")
	}
	return s, nil
}

// container reads a list or an object.
func (p *parser) container(shape shape, closing byte, depth int) (*value, error) {
	v := &value{shape: shape, start: p.at}
	p.at++
	for {
		if err := p.space(); err != nil {
			return nil, err
		}
		switch {
		case p.at == len(p.data):
			return nil, p.wrong(v.start, "this has no end")
		case p.next() == closing:
			p.at++
			v.end = p.at
			return v, nil
		case len(v.items) > 0 && v.items[len(v.items)-1].comma < 0:
			return nil, p.wrong(p.at, "a comma is missing before this")
		}
		it, err := p.item(v, depth)
		if err != nil {
			return nil, err
		}
		v.items = append(v.items, it)
	}
}

// item reads an element or a member, and the comma after it.
func (p *parser) item(of *value, depth int) (item, error) {
	it := item{start: p.at, comma: -1}
	var err error
	if of.shape == object {
		if it.key, err = p.key(); err != nil {
			return it, err
		}
		if of.index(it.key) >= 0 {
			return it, p.wrong(it.start, "this key is there twice")
		}
	}
	if it.value, err = p.value(depth + 1); err != nil {
		return it, err
	}
	if err := p.space(); err != nil {
		return it, err
	}
	if p.next() == ',' {
		it.comma = p.at
		p.at++
	}
	return it, nil
}

// key reads a key and its colon.
func (p *parser) key() (string, error) {
	if p.next() != '"' {
		return "", p.wrong(p.at, "a key in quotes is expected here")
	}
	key, err := p.quoted()
	if err != nil {
		return "", err
	}
	if err := p.space(); err != nil {
		return "", err
	}
	if p.next() != ':' {
		return "", p.wrong(p.at, "a colon is missing before this")
	}
	p.at++
	return key, p.space()
}
