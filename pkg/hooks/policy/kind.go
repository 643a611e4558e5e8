package policy

import (
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

func (o Options) isShell(call hooks.ToolCall) bool {
	switch CanonicalTool(call.Tool) {
	case ToolShell:
		return true
	case call.Tool: // an unknown tool, or one with a canonical name
	default:
		return false
	}
	if named(o.ShellTools, call.Tool) {
		return true
	}
	return !isCanonical[call.Tool] && !named(o.WriteTools, call.Tool) && looksLike(call.Tool, shellNouns) && hasText(o.members(call.Args), commandKeys)
}

func (o Options) isWrite(call hooks.ToolCall) bool {
	if writes(call) || named(o.WriteTools, call.Tool) {
		return true
	}
	if CanonicalTool(call.Tool) != call.Tool || isCanonical[call.Tool] || named(o.ShellTools, call.Tool) {
		return false
	}
	return looksLike(call.Tool, writeVerbs) && hasText(o.members(call.Args), pathKeys) && hasText(o.members(call.Args), contentKeys)
}

func (o Options) isRead(call hooks.ToolCall) bool {
	if CanonicalTool(call.Tool) == ToolRead {
		return true
	}
	return CanonicalTool(call.Tool) == call.Tool && looksLike(call.Tool, readVerbs) &&
		(hasText(o.members(call.Args), pathKeys) || hasText(o.members(call.Args), patternKeys))
}

var isCanonical = words("Bash Write Edit Task AskUserQuestion Read WebFetch WebSearch TodoWrite")

var (
	shellNouns  = words("shell bash terminal command commands cmd exec execute run console powershell script ssh process")
	writeVerbs  = words("write create update edit save put append insert replace modify patch overwrite upload set add delete remove move rename")
	readVerbs   = words("read view open cat show load grep get")
	contentKeys = words("content contents text data body newstring newstr newcontent patch diff filetext edits")
)

func named(names []string, tool string) bool {
	own := squash(lastName(tool))
	return slices.ContainsFunc(names, func(name string) bool {
		return name == tool || squash(name) == own
	})
}

func lastName(tool string) string {
	if i := strings.LastIndex(tool, "__"); i >= 0 {
		tool = tool[i+2:]
	}
	return tool[strings.LastIndexAny(tool, ".:/")+1:]
}

func looksLike(tool string, known map[string]bool) bool {
	return slices.ContainsFunc(nameParts(lastName(tool)), func(part string) bool { return known[part] })
}

func nameParts(name string) []string {
	var b strings.Builder
	for i, r := range name {
		upper := r >= 'A' && r <= 'Z'
		if upper && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.FieldsFunc(strings.ToLower(b.String()), func(r rune) bool { return r == '_' || r == '-' || r == ' ' })
}

func hasText(m map[string]any, keys map[string]bool) bool {
	for key, v := range m {
		if keys[squash(key)] && v != nil {
			return true
		}
	}
	return false
}
