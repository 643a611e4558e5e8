package runtree

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// telling are the arguments that say most about a call, the first that is there
// wins.
var telling = []string{
	"command", "cmd", "file_path", "filePath", "path", "notebook_path", "pattern", "query", "url", "description", "prompt", "skill", "name",
}

// detail returns one line about the arguments of a call: the one that tells
// most, else all of them.
func detail(args json.RawMessage) string {
	var named map[string]json.RawMessage
	if json.Unmarshal(args, &named) != nil {
		return OneLine(string(args))
	}
	for _, name := range telling {
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

// abbreviate returns a value that fits behind the name of its argument: "=3",
// "[4]" for a list of four.
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

// maxDetail bounds a line, in characters.
const maxDetail = 500

// OneLine returns s with every run of white space as one space, and at most 500
// characters of it, the last an ellipsis if some are left out.
func OneLine(s string) string {
	return Clip(strings.Join(strings.Fields(Clip(s, 4*maxDetail)), " "), maxDetail)
}

// Clip returns at most width characters of s, the last an ellipsis if some are
// left out.
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
