package runtree

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/pkg/events"
)

var mainArguments = []string{
	"command", "cmd", "file_path", "filePath", "path", "notebook_path", "pattern", "query", "url", "description", "prompt", "skill", "name",
}

const maxArguments = 64

func detail(args json.RawMessage) string {
	switch {
	case string(args) == "null":
		return ""
	case len(args) == 0 || args[0] != '{':
		return OneLine(string(args))
	}
	best, value := len(mainArguments), ""
	named := make(map[string]json.RawMessage)
	for name, v := range events.Members(args) {
		if text, _ := events.TextOf(v); text != "" {
			if i := slices.Index(mainArguments, name); i >= 0 && i <= best {
				best, value = i, text
			}
		}
		if _, known := named[name]; known || len(named) < maxArguments {
			named[name] = v
		}
	}
	if value != "" {
		return OneLine(value)
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(named)) {
		parts = append(parts, Clip(name, maxDetail)+abbreviate(named[name]))
	}
	return OneLine(strings.Join(parts, " "))
}

func abbreviate(value json.RawMessage) string {
	switch value[0] {
	case '[':
		n := 0
		for range events.Elements(value) {
			n++
		}
		return "[" + strconv.Itoa(n) + "]"
	case '{':
		return "{…}"
	}
	return "=" + OneLine(string(value))
}

const maxDetail = 500

// OneLine replaces white space with single spaces and clips the result to 500 characters.
func OneLine(s string) string {
	return Clip(strings.Join(strings.Fields(Clip(s, 4*maxDetail)), " "), maxDetail)
}

// Clip cuts s to at most width characters and ends it with an ellipsis.
func Clip(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	n := 0
	for i := range s {
		if n == width-1 {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
