package install

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

var errLayout = errors.New("the settings are in a form that only a person should edit")

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

func readTOML(text string) (*tomlFile, error) {
	if _, err := meaning(text); err != nil {
		if at, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, column := at.Position()
			return nil, fmt.Errorf("%d:%d: %w", line, column, err)
		}
		return nil, err
	}
	f := &tomlFile{tables: []tomlTable{{}}}
	if text != "" {
		f.lines = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	open := ""
	for i, line := range f.lines {
		was := open
		open = multiline(line, open)
		if m := tomlHeader.FindStringSubmatch(line); m != nil && was == "" {
			f.tables[len(f.tables)-1].to = i
			f.tables = append(f.tables, tomlTable{header: m[1], from: i + 1})
		}
	}
	f.tables[len(f.tables)-1].to = len(f.lines)
	return f, nil
}

func meaning(text string) (values map[string]any, err error) {
	values = make(map[string]any)
	return values, toml.Unmarshal([]byte(text), &values)
}

func adds(before, value, after string) bool {
	want, err := meaning(before)
	if err != nil {
		return false
	}
	added, err := meaning(value)
	if err != nil {
		return false
	}
	have, err := meaning(after)
	return err == nil && merge(want, added) && reflect.DeepEqual(want, have)
}

func merge(into, from map[string]any) bool {
	for key, value := range from {
		inner, isTable := value.(map[string]any)
		old, exists := into[key]
		table, wasTable := old.(map[string]any)
		switch {
		case exists && isTable != wasTable:
			return false
		case !isTable || !exists:
			into[key] = value
		case !merge(table, inner):
			return false
		}
	}
	return true
}

var tomlString = regexp.MustCompile(`^("(\\.|[^"\\])*"|'[^']*')`)

func multiline(line, open string) string {
	for line != "" {
		switch {
		case open == `"""` && line[0] == '\\':
			line = line[min(2, len(line)):]
		case open != "" && strings.HasPrefix(line, open):
			line, open = line[3:], ""
		case open != "":
			line = line[1:]
		case line[0] == '#':
			return ""
		case strings.HasPrefix(line, `"""`), strings.HasPrefix(line, `'''`):
			line, open = line[3:], line[:3]
		default:
			line = line[max(1, len(tomlString.FindString(line))):]
		}
	}
	return open
}

func (f *tomlFile) find(header string) *tomlTable {
	for i := range f.tables {
		if f.tables[i].header == header {
			return &f.tables[i]
		}
	}
	return nil
}

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
	after := (&tomlFile{lines: lines}).String()
	if !adds(f.String(), header+"\n"+line, after) {
		return nil, errLayout
	}
	return readTOML(after)
}

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
	after := (&tomlFile{lines: slices.Delete(slices.Clone(f.lines), from, to)}).String()
	if !adds(after, header+"\n"+f.lines[at], f.String()) {
		return nil, errLayout
	}
	return readTOML(after)
}

func (f *tomlFile) String() string {
	if len(f.lines) == 0 {
		return ""
	}
	return strings.Join(f.lines, "\n") + "\n"
}
