package install

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// errLayout reports that a setting is not in a table of its own. An edit could then make
// the file invalid.
var errLayout = errors.New("the settings are in a form that only a person should edit")

// tomlFile is a TOML file as lines. It finds tables by their headers, and does not parse
// values.
type tomlFile struct {
	lines  []string
	tables []tomlTable
}

type tomlTable struct {
	header   string
	from, to int // lines after the header
}

var (
	tomlHeader = regexp.MustCompile(`^\s*(\[.*\])\s*(?:#.*)?$`)
	tomlKey    = regexp.MustCompile(`^\s*([A-Za-z0-9_-]+|"[^"]*"|'[^']*')\s*([.=])\s*(.*?)\s*$`)
)

// readTOML fails if hooks or projects are not in tables of their own.
func readTOML(text string) (*tomlFile, error) {
	f := &tomlFile{tables: []tomlTable{{}}}
	if text != "" {
		f.lines = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	open := ""
	for i, line := range f.lines {
		was := open
		open = multiline(line, open)
		if was != "" {
			continue
		}
		last := &f.tables[len(f.tables)-1]
		if m := tomlHeader.FindStringSubmatch(line); m != nil {
			if i > 0 && continues(f.lines[i-1]) {
				return nil, errLayout
			}
			last.to = i
			f.tables = append(f.tables, tomlTable{header: m[1], from: i + 1})
		} else if m := tomlKey.FindStringSubmatch(line); m != nil && inline(last.header, strings.Trim(m[1], `"'`)) {
			return nil, errLayout
		}
	}
	f.tables[len(f.tables)-1].to = len(f.lines)
	if open != "" {
		return nil, errLayout
	}
	return f, nil
}

// continues reports whether the next line may belong to the same list. It then is not a
// header.
func continues(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasSuffix(line, "[") || strings.HasSuffix(line, ",")
}

// inline reports whether a key sets trust outside of the tables that this package edits.
func inline(header, key string) bool {
	switch header {
	case "":
		return key == "hooks" || key == "projects"
	case "[hooks]":
		return key == "state"
	}
	return header == "[hooks.state]" || header == "[projects]"
}

// multiline returns the delimiter of the string that is open after a line.
func multiline(line, open string) string {
	for {
		if open != "" {
			_, rest, ended := strings.Cut(line, open)
			if !ended {
				return open
			}
			line = rest
		}
		basic, literal := strings.Index(line, `"""`), strings.Index(line, `'''`)
		switch {
		case basic < 0 && literal < 0:
			return ""
		case literal < 0 || basic >= 0 && basic < literal:
			line, open = line[basic+3:], `"""`
		default:
			line, open = line[literal+3:], `'''`
		}
	}
}

func (f *tomlFile) find(header string) *tomlTable {
	for i := range f.tables {
		if f.tables[i].header == header {
			return &f.tables[i]
		}
	}
	return nil
}

// get returns the text of a value. It is empty if the table has no such key.
func (f *tomlFile) get(header, key string) (value string, line int) {
	t := f.find(header)
	if t == nil {
		return "", -1
	}
	for i := t.from; i < t.to; i++ {
		if m := tomlKey.FindStringSubmatch(f.lines[i]); m != nil && m[1] == key && m[2] == "=" {
			return m[3], i
		}
	}
	return "", -1
}

// set returns the file with a value.
func (f *tomlFile) set(header, key, value string) (*tomlFile, error) {
	line := key + " = " + value
	lines := slices.Clone(f.lines)
	if t := f.find(header); t == nil {
		lines = append(lines, header, line)
	} else if _, at := f.get(header, key); at >= 0 {
		lines[at] = line
	} else {
		lines = slices.Insert(lines, t.from, line)
	}
	return readTOML((&tomlFile{lines: lines}).String())
}

// remove returns the file without a key, and without its table if that becomes empty.
func (f *tomlFile) remove(header, key string) (*tomlFile, error) {
	_, at := f.get(header, key)
	if at < 0 {
		return f, nil
	}
	t := f.find(header)
	from, to := at, at+1
	if strings.TrimSpace(strings.Join(slices.Delete(slices.Clone(f.lines[t.from:t.to]), at-t.from, to-t.from), "")) == "" {
		from, to = t.from-1, t.to
	}
	return readTOML((&tomlFile{lines: slices.Delete(slices.Clone(f.lines), from, to)}).String())
}

func (f *tomlFile) String() string {
	if len(f.lines) == 0 {
		return ""
	}
	return strings.Join(f.lines, "\n") + "\n"
}
