package runtree

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// mainArguments are the arguments that describe a call well, the best first.
var mainArguments = []string{
	"command", "cmd", "file_path", "filePath", "path", "notebook_path", "pattern", "query", "url", "description", "prompt", "skill", "name",
}

func detail(args json.RawMessage) string {
	var named map[string]json.RawMessage
	if json.Unmarshal(args, &named) != nil {
		return OneLine(string(args))
	}
	for _, name := range mainArguments {
		var value string
		if json.Unmarshal(named[name], &value) == nil && value != "" {
			return OneLine(value)
		}
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(named)) {
		parts = append(parts, name+abbreviate(named[name]))
	}
	return OneLine(strings.Join(parts, " "))
}

// abbreviate returns a short form of an argument's value, such as "=3", or "[4]" for a list.
func abbreviate(value json.RawMessage) string {
	var list []json.RawMessage
	switch {
	case json.Unmarshal(value, &list) == nil && list != nil:
		return "[" + strconv.Itoa(len(list)) + "]"
	case strings.HasPrefix(string(value), "{"):
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
