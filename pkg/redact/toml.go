package redact

import (
	"fmt"
	"strconv"
	"strings"
)

// tomlReader reads as much of TOML as the rules are written in: tables, arrays
// of tables, strings of one line, literal strings, numbers, arrays of strings,
// comments. It refuses the rest, so that a rule that it does not understand is
// an error and never a rule less.
type tomlReader struct {
	text string
	pos  int
}

// tomlValue is a string, a number or a list of strings.
type tomlValue struct {
	text   string
	number float64
	list   []string
	form   tomlForm
}

type tomlForm string

const (
	tomlText   tomlForm = "string"
	tomlNumber tomlForm = "number"
	tomlList   tomlForm = "list of strings"
)

// read calls table for each header and member for each key.
func (r *tomlReader) read(table func(name string, many bool) error, member func(key string, v tomlValue) error) error {
	for r.skip(); r.pos < len(r.text); r.skip() {
		var err error
		if r.text[r.pos] == '[' {
			name, many, ok := r.header()
			if !ok {
				return r.fail("table header")
			}
			err = table(name, many)
		} else {
			err = r.member(member)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fail says in which line the text is not understood.
func (r *tomlReader) fail(what string) error {
	return fmt.Errorf("line %d: %s is not understood", 1+strings.Count(r.text[:r.pos], "\n"), what)
}

// skip moves over white space and comments.
func (r *tomlReader) skip() {
	for r.pos < len(r.text) {
		switch r.text[r.pos] {
		case ' ', '\t', '\r', '\n':
			r.pos++
		case '#':
			n := strings.IndexByte(r.text[r.pos:], '\n')
			if n < 0 {
				n = len(r.text) - r.pos
			}
			r.pos += n
		default:
			return
		}
	}
}

func (r *tomlReader) header() (name string, many, ok bool) {
	line, _, _ := strings.Cut(r.text[r.pos:], "\n")
	r.pos += len(line)
	line = strings.TrimSpace(line)
	if inner, ok := strings.CutPrefix(line, "[["); ok {
		name, ok = strings.CutSuffix(inner, "]]")
		return name, true, ok
	}
	name, ok = strings.CutSuffix(line[1:], "]")
	return name, false, ok
}

func (r *tomlReader) member(member func(string, tomlValue) error) error {
	key, _, ok := strings.Cut(r.text[r.pos:], "=")
	if !ok || strings.ContainsAny(key, "\n\"'#[") {
		return r.fail("key")
	}
	r.pos += len(key) + 1
	v, err := r.value()
	if err == nil {
		err = member(strings.TrimSpace(key), v)
	}
	return err
}

func (r *tomlReader) value() (v tomlValue, err error) {
	r.skip()
	rest := r.text[r.pos:]
	switch {
	case strings.HasPrefix(rest, "["):
		v.form = tomlList
		v.list, err = r.list()
	case strings.HasPrefix(rest, `"`), strings.HasPrefix(rest, "'"):
		v.form = tomlText
		v.text, err = r.string()
	default:
		n := strings.IndexAny(rest, " \t\r\n#")
		if n < 0 {
			n = len(rest)
		}
		v.form = tomlNumber
		if v.number, err = strconv.ParseFloat(rest[:n], 64); err != nil {
			return v, r.fail("value")
		}
		r.pos += n
	}
	return v, err
}

// list reads an array of strings.
func (r *tomlReader) list() ([]string, error) {
	var list []string
	r.pos++
	for {
		r.skip()
		if strings.HasPrefix(r.text[r.pos:], "]") {
			r.pos++
			return list, nil
		}
		s, err := r.string()
		if err != nil {
			return nil, err
		}
		list = append(list, s)
		r.skip()
		switch {
		case strings.HasPrefix(r.text[r.pos:], ","):
			r.pos++
		case !strings.HasPrefix(r.text[r.pos:], "]"):
			return nil, r.fail("list")
		}
	}
}

// string reads a string in any quotes. Those that could hold escapes may not.
func (r *tomlReader) string() (string, error) {
	rest := r.text[r.pos:]
	for _, quote := range [...]string{"'''", `"""`, "'", `"`} {
		inner, ok := strings.CutPrefix(rest, quote)
		if !ok {
			continue
		}
		s, _, ok := strings.Cut(inner, quote)
		if !ok || quote == `"""` || quote == `"` && strings.Contains(s, `\`) || len(quote) == 1 && strings.Contains(s, "\n") {
			return "", r.fail("string")
		}
		r.pos += 2*len(quote) + len(s)
		return strings.TrimPrefix(s, "\n"), nil
	}
	return "", r.fail("value")
}
