package policy

import (
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

// The names are in the form that squash returns, such as "filepath" for "file_path".
var pathKeys = words("path file filepath filename paths files notebookpath targetfile targetpath absolutepath relativepath " +
	"relativeworkspacepath oldpath newpath sourcepath sourcefile source src destinationpath destinationfile destination dest dst " +
	"outputpath outputfile dirpath")

var commandKeys = words("command cmd cmdline commandline script chars")

var argumentKeys = words("args arguments argv")

var dirKeys = words("workdir cwd workingdir workingdirectory directory dirpath")

var patchKeys = words("input patch patchtext diff command")

func words(list string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

func commandsOf(m map[string]any) (texts []string, ok bool) {
	ok = true
	var behind strings.Builder
	for _, key := range slices.Sorted(maps.Keys(m)) {
		isCommand := commandKeys[squash(key)]
		if !isCommand && (!argumentKeys[squash(key)] || m[key] == nil) {
			continue
		}
		text, known := commandText(m[key])
		switch {
		case !known:
			ok = false
		case isCommand:
			texts = append(texts, text)
		default:
			behind.WriteString(" " + text)
		}
	}
	for i := range texts {
		texts[i] += behind.String()
	}
	return texts, ok && len(texts) > 0
}

func dirOf(m map[string]any) string {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if dir, ok := m[key].(string); ok && dir != "" && dirKeys[squash(key)] {
			if len(dir) > shell.MaxPath {
				return shell.Hole
			}
			return homed(slashed(slashes(dir)))
		}
	}
	return ""
}

func homed(dir string) string {
	if rest, ok := strings.CutPrefix(dir, "~"); ok {
		return shell.HomeDir + rest
	}
	return dir
}

func startedIn(start, dir, root string) string {
	if start == "" || root == "" || path.IsAbs(dir) {
		return dir
	}
	return path.Join(start, dir)
}

func commandText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case []any:
		quoted := make([]string, len(v))
		for i, e := range v {
			word, isText := e.(string)
			text, err := syntax.Quote(word, syntax.LangBash)
			if !isText || err != nil {
				return "", false
			}
			quoted[i] = text
		}
		return strings.Join(quoted, " "), true
	}
	return "", false
}

var editors = words("strreplaceeditor strreplacebasededittool texteditor")

func writes(call hooks.ToolCall) bool {
	switch CanonicalTool(call.Tool) {
	case ToolWrite:
		return true
	case ToolEdit:
		command, _ := call.Args.Text("command")
		return command != "view" || !editors[squash(call.Tool)]
	}
	return false
}

func pathsOf(m map[string]any) []string {
	var paths []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if patchKeys[squash(key)] {
			text, _ := commandText(m[key])
			paths = append(paths, patchedFiles(text)...)
		}
	}
	return append(paths, namedFiles(m, 0)...)
}

const maxNesting = 6

func namedFiles(v any, depth int) []string {
	var paths []string
	if depth > maxNesting {
		return nil
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			paths = append(paths, namedFiles(e, depth+1)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if pathKeys[squash(key)] {
				paths = append(paths, textsOf(v[key])...)
			}
			paths = append(paths, namedFiles(v[key], depth+1)...)
		}
	}
	return paths
}

func textsOf(v any) []string {
	var texts []string
	switch v := v.(type) {
	case string:
		texts = append(texts, v)
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok {
				texts = append(texts, s)
			}
		}
	}
	return texts
}

var (
	patchMarks = []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "}
	diffMarks  = []string{"+++ b/", "--- a/", "+++ ", "--- ", "rename to ", "rename from ", "copy to "}
)

func patchedFiles(patch string) []string {
	var paths []string
	found := map[string]bool{}
	marks := diffMarks
	if slices.ContainsFunc(patchMarks, func(mark string) bool { return strings.Contains(patch, mark) }) {
		marks = patchMarks
	}
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "*** ") {
			line = trimmed
		}
		for _, mark := range marks {
			name, ok := strings.CutPrefix(line, mark)
			if !ok {
				continue
			}
			name, _, _ = strings.Cut(name, "\t")
			if name = strings.TrimSpace(name); name != "/dev/null" && !found[name] {
				found[name] = true
				paths = append(paths, name)
			}
			break
		}
	}
	return paths
}

func firstTruthy(args hooks.JSON, keys ...string) (string, bool) {
	m, err := args.Map()
	if err != nil {
		return "", false
	}
	for _, key := range keys {
		switch v := m[key].(type) {
		case nil:
		case string:
			if v != "" {
				return v, true
			}
		case bool:
			if v {
				return "", false
			}
		case float64:
			if v != 0 {
				return "", false
			}
		default:
			return "", false
		}
	}
	return "", false
}
